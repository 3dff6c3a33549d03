package fleet

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

// MaxList bounds the size of an operator's list in bytes. 4,096 members with long lines fit.
const MaxList = 4 << 20

// Allowed is one line of an allow list.
type Allowed struct {
	Name       string
	PublicKey  Key
	AllowedIPs []netip.Prefix
	Within     []netip.Prefix // networks for endpoints; empty: any address
	line       int
}

// AllowList contains the permitted members and their prefixes. A nil AllowList permits no member.
type AllowList struct{ byName map[string]*Allowed }

// ParseAllowList parses lines of this form:
//
//	NAME PUBLIC_KEY PREFIX[,PREFIX...] [within NETWORK[,NETWORK...]]
//
// A "-" stands for no prefix. ParseAllowList skips empty lines, and comments after '#'. Two members
// must not have the same key or overlapping prefixes. ParseAllowList treats that as a mistake of
// the operator, and returns an error.
func ParseAllowList(data []byte) (*AllowList, error) {
	l := &AllowList{byName: map[string]*Allowed{}}
	var held claims
	err := eachLine(data, func(n int, words []string) error {
		a, err := parseAllowed(words)
		if err != nil {
			return err
		}
		a.line = n
		if before := l.byName[a.Name]; before != nil {
			return fmt.Errorf("%s has line %d already", a.Name, before.line)
		}
		m := &member{rec: &Record{Name: a.Name, PublicKey: a.PublicKey, AllowedIPs: a.AllowedIPs}}
		if other, what := held.conflict(m); other != nil {
			return fmt.Errorf("%s belongs to %s, in line %d", what, other.rec.Name, l.byName[other.rec.Name].line)
		}
		held.add(m)
		l.byName[a.Name] = a
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func parseAllowed(words []string) (a *Allowed, err error) {
	if len(words) != 3 && (len(words) != 5 || words[3] != "within") {
		return nil, errors.New("want NAME KEY PREFIXES, and perhaps: within NETWORKS")
	}
	a = &Allowed{Name: words[0]}
	if err := CheckName(a.Name); err != nil {
		return nil, err
	}
	if a.PublicKey, err = ParseKey(words[1]); err != nil {
		return nil, err
	}
	if words[2] != "-" {
		if a.AllowedIPs, err = ParsePrefixes(words[2]); err != nil {
			return nil, err
		}
	}
	if len(words) == 5 {
		a.Within, err = ParsePrefixes(words[4])
	}
	return a, err
}

// ParsePrefixes parses a list of prefixes with commas between them.
func ParsePrefixes(s string) ([]netip.Prefix, error) { return parsePrefixes(strings.Split(s, ",")) }

// Find returns the line of a member, or nil.
func (l *AllowList) Find(name string) *Allowed {
	if l == nil {
		return nil
	}
	return l.byName[name]
}

// Claimed returns a record that claims everything that the line allows.
func (a *Allowed) Claimed(endpoints []netip.AddrPort) *Record {
	return &Record{Name: a.Name, PublicKey: a.PublicKey, Endpoints: slices.Clone(endpoints), AllowedIPs: a.AllowedIPs}
}

// DenyList revokes rights from an allow list or a grant. It denies a key for ever, or denies grants
// that were signed before a given time. The zero value of DenyList denies no member.
type DenyList struct {
	keys   map[Key]time.Time // grants signed before this time are invalid; zero: the key is denied for ever
	before time.Time         // the same for the grants of all keys
}

// ParseDenyList parses lines of these forms:
//
//	PUBLIC_KEY [before TIME]
//	* before TIME
//
// A line without a time denies the key for ever. A line with a time denies only grants that were
// signed before it, for that key or, with '*', for all keys.
func ParseDenyList(data []byte) (*DenyList, error) {
	l := &DenyList{keys: map[Key]time.Time{}}
	err := eachLine(data, func(_ int, words []string) (err error) {
		var before time.Time
		if len(words) == 3 && words[1] == "before" {
			if before, err = time.Parse(time.RFC3339, words[2]); err != nil {
				return fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", words[2])
			}
		} else if len(words) != 1 {
			return errors.New("want KEY, or KEY before TIME, or: * before TIME")
		}
		if words[0] == "*" {
			if before.IsZero() {
				return errors.New("'*' needs: before TIME")
			}
			l.before = before
			return nil
		}
		k, err := parseDenied(words[0])
		if err != nil {
			return err
		}
		if old, dup := l.keys[k]; dup && (old.IsZero() || !before.IsZero() && before.Before(old)) {
			return nil // of two lines for a key, the stricter one applies
		}
		l.keys[k] = before
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// denies reports whether the list denies the key k for ever, or denies the grant g. If the member
// has no grant, g is nil.
func (l *DenyList) denies(k Key, g *Grant) bool {
	if l == nil {
		return false
	}
	before, listed := l.keys[k]
	switch {
	case listed && before.IsZero():
		return true
	case g == nil:
		return false
	}
	return listed && g.Signed.Before(before) || g.Signed.Before(l.before)
}

// ParseFleetKeys parses the fleet's public keys, one on each line, in base64. Several keys are
// valid while an operator replaces the fleet's key.
func ParseFleetKeys(data []byte) (keys []ed25519.PublicKey, err error) {
	err = eachLine(data, func(_ int, words []string) error {
		if len(words) != 1 {
			return errors.New("want one key")
		}
		raw, err := keytext.Parse(words[0])
		keys = append(keys, ed25519.PublicKey(raw[:]))
		return err
	})
	if err == nil && len(keys) == 0 {
		err = errors.New("has no key")
	}
	return keys, err
}

// eachLine calls the function do() with the words of each line that is not empty. If do() fails,
// eachLine adds the line's number to the error.
func eachLine(data []byte, do func(n int, words []string) error) error {
	if len(data) > MaxList {
		return fmt.Errorf("%d bytes; at most %d are allowed", len(data), MaxList)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			if err := do(n, words); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return nil
}
