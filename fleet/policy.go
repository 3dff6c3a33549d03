package fleet

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Policy holds the operator's decision on who is a member. Its zero value admits nobody.
type Policy struct {
	Fleet string              // the name that grants must be for
	Keys  []ed25519.PublicKey // that sign grants
	Allow *AllowList
	Deny  *DenyList
}

// right is a record's right under the policy.
type right struct {
	listed  bool      // by the allow list: before all that are signed
	order   int64     // the line, or when it was issued in milliseconds since 1970
	expires time.Time // zero: never
}

// older compares two rights by age. The value born is chosen by the discovery, so a writer
// to it can influence the value. Therefore born decides only between grants of the same
// millisecond. Key and name are compared last, so that no two rights are equal.
func (a *member) older(b *member) int {
	switch {
	case a.right.listed && !b.right.listed:
		return -1
	case !a.right.listed && b.right.listed:
		return 1
	}
	return cmp.Or(cmp.Compare(a.right.order, b.right.order), cmp.Compare(a.born, b.born),
		cmp.Compare(string(a.rec.PublicKey[:]), string(b.rec.PublicKey[:])), cmp.Compare(a.rec.Name, b.rec.Name))
}

// errNoPolicy means that a member is neither listed nor signed.
var errNoPolicy = errors.New("neither the allow list nor a grant of the fleet's key admits it")

// Judge returns nil if the policy admits a record now, or the reason of its refusal.
func (p *Policy) Judge(r *Record, now time.Time) error {
	_, err := p.judge(r, now)
	return err
}

// judge returns the right of a record.
func (p *Policy) judge(r *Record, now time.Time) (right, error) {
	if a := p.Allow.Find(r.Name); a != nil && a.PublicKey == r.PublicKey {
		if p.Deny.denies(r.PublicKey, nil) {
			return right{}, errors.New("the deny list has its key")
		}
		return right{listed: true, order: int64(a.line)}, bounds(r, a.AllowedIPs, a.Within)
	}
	g := r.Grant
	if g == nil || len(p.Keys) == 0 {
		return right{}, errNoPolicy
	}
	switch {
	case g.Name != r.Name || g.PublicKey != r.PublicKey:
		return right{}, errors.New("its grant is another member's")
	case g.Fleet != p.Fleet:
		return right{}, fmt.Errorf("its grant is for the fleet %q", g.Fleet)
	case p.Deny.denies(r.PublicKey, g):
		return right{}, errors.New("the deny list has its key")
	case !g.Expires.IsZero() && !now.Before(g.Expires):
		return right{}, fmt.Errorf("its grant expired at %s", stamp(g.Expires))
	}
	if err := bounds(r, g.AllowedIPs, g.Within); err != nil {
		return right{}, err
	}
	// The signature is checked last, because this costs most.
	if !g.signedBy(p.Keys) {
		return right{}, errors.New("the signature is not of the fleet's key")
	}
	return right{order: g.Issued.UnixMilli(), expires: g.Expires}, nil
}

// bounds checks the claims of a record against its right.
func bounds(r *Record, allowed, nets []netip.Prefix) error {
	for _, p := range r.AllowedIPs {
		if !within(allowed, p) {
			return fmt.Errorf("it claims %v, which it may not have", p)
		}
	}
	for _, e := range r.Endpoints {
		if len(nets) > 0 && !within(nets, netip.PrefixFrom(e.Addr(), e.Addr().BitLen())) {
			return fmt.Errorf("its endpoint %v is outside of the networks for it", e)
		}
	}
	return nil
}
