package fleet

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Policy holds the operator's rules of membership. The zero value of Policy admits no member.
type Policy struct {
	Fleet string              // name of the fleet, which a grant must have
	Keys  []ed25519.PublicKey // keys that sign grants
	Allow *AllowList
	Deny  *DenyList
}

// right is the right that a record has under the policy.
type right struct {
	listed  bool      // by the allow list; such a right is older than all grants
	order   int64     // number of the line, or time of issue in milliseconds since 1970
	expires time.Time // zero: never
}

// older compares the ages of two members' rights. The value of born is from the store, so a user
// with write access to the store can influence it. So born decides only between grants of the same
// millisecond. Key and name decide last, so that two rights are never equal.
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

// errNoPolicy means that the member is neither on the allow list nor has a grant.
var errNoPolicy = errors.New("neither the allow list nor a grant of the fleet's key admits it")

// Judge returns nil if the policy admits the record at the time `now`, and otherwise the reason for
// the refusal.
func (p *Policy) Judge(r *Record, now time.Time) error {
	_, err := p.judge(r, now)
	return err
}

// judge returns the right of a record, or the reason for its refusal.
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
	// The signature is checked last, because this check is the slowest.
	if !g.signedBy(p.Keys) {
		return right{}, errors.New("its grant is not signed by the fleet's key")
	}
	return right{order: g.Issued.UnixMilli(), expires: g.Expires}, nil
}

// bounds checks that a record claims no more than its right allows.
func bounds(r *Record, allowed, nets []netip.Prefix) error {
	for _, p := range r.AllowedIPs {
		if !within(allowed, p) {
			return fmt.Errorf("it claims %v, but has no right to this prefix", p)
		}
	}
	for _, e := range r.Endpoints {
		if len(nets) > 0 && !within(nets, netip.PrefixFrom(e.Addr(), e.Addr().BitLen())) {
			return fmt.Errorf("its endpoint %v is outside of its permitted networks", e)
		}
	}
	return nil
}
