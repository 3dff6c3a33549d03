package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
)

const (
	// maxName is the maximum length of a name in bytes. It is the length of a DNS label, as for the
	// names of the daemon's peers.
	maxName = 63
	// MaxPrefixes bounds the number of a member's allowed IPs, and of the networks for its
	// endpoints. Each allowed IP becomes a route on every other member.
	MaxPrefixes = 64
	// MaxEndpoints is the daemon's maximum number of endpoints for a peer.
	MaxEndpoints = 16
)

// Key is an X25519 public key (RFC 7748).
type Key [32]byte

// ParseKey parses a key of a member. Like the daemon, it refuses a key with which the result of a
// key exchange is not secret.
func ParseKey(s string) (Key, error) {
	k, err := parseDenied(s)
	if err == nil && !keytext.Usable(k) {
		return Key{}, errors.New("not a usable key: it gives the same secret to everyone")
	}
	return k, err
}

// parseDenied parses a key, and accepts only one spelling of each key. Otherwise a denied key could
// return in another spelling.
func parseDenied(s string) (Key, error) {
	raw, err := keytext.ParsePublic(s)
	if err == nil && raw == (Key{}) {
		err = errors.New("a key of zeros")
	}
	if err != nil {
		return Key{}, err
	}
	return raw, nil
}

// String returns the key in base64.
func (k Key) String() string { return keytext.Format(k) }

// CheckName accepts a name of 1 to 63 characters a-z, 0-9, '-', '.' and '_' that begins with a
// letter or digit. The name becomes part of a file name, of a key in etcd, and of log lines.
// CheckName refuses names that can be mistaken for an address, a prefix or a key.
func CheckName(s string) error {
	if s == "" || len(s) > maxName {
		return fmt.Errorf("a name has 1 to %d bytes, not %d", maxName, len(s))
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '-' && c != '.' && c != '_') {
			return errors.New("a name has a-z, 0-9, '-', '.' and '_' only, and begins with a letter or digit")
		}
	}
	return peerid.CheckName(s)
}

// parsePrefixes parses prefixes in any order, accepts only one spelling of each, and sorts them.
// The prefixes must not overlap.
func parsePrefixes(list []string) ([]netip.Prefix, error) {
	if len(list) > MaxPrefixes {
		return nil, fmt.Errorf("%d prefixes; at most %d are allowed", len(list), MaxPrefixes)
	}
	var v []netip.Prefix
	for _, s := range list {
		p, err := parsePrefix(s)
		if err != nil {
			return nil, err
		}
		v = append(v, p)
	}
	slices.SortFunc(v, comparePrefixes)
	for i := 1; i < len(v); i++ {
		if v[i-1].Overlaps(v[i]) {
			return nil, fmt.Errorf("%v and %v overlap", v[i-1], v[i])
		}
	}
	return v, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if len(s) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128") {
		return netip.Prefix{}, errors.New("not a prefix")
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is no prefix", s)
	case p.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q: an IPv4 address in IPv6 form", s)
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has host bits; want %v", s, p.Masked())
	}
	return p, nil
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// parseEndpoints parses addresses with ports. A host name is refused, because a user with write
// access to the store could make every member look up names.
func parseEndpoints(list []string) ([]netip.AddrPort, error) {
	if len(list) > MaxEndpoints {
		return nil, fmt.Errorf("%d endpoints; at most %d are allowed", len(list), MaxEndpoints)
	}
	var v []netip.AddrPort
	for _, s := range list {
		e, err := ParseEndpoint(s)
		if err != nil {
			return nil, err
		}
		if slices.Contains(v, e) {
			return nil, fmt.Errorf("%v is listed twice", e)
		}
		v = append(v, e)
	}
	return v, nil
}

// ParseEndpoint parses an address and port to which another host can send.
func ParseEndpoint(s string) (netip.AddrPort, error) {
	if len(s) > len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535") {
		return netip.AddrPort{}, errors.New("not an address with a port")
	}
	e, err := netip.ParseAddrPort(s)
	if err != nil {
		return e, fmt.Errorf("%q is not an address with a port", s)
	}
	a := e.Addr()
	switch {
	case a.Is4In6(), a.Zone() != "", e.Port() == 0:
		return e, fmt.Errorf("%q: want a plain address and a port from 1", s)
	case a.IsUnspecified(), a.IsMulticast(), a.IsLoopback(), a.IsLinkLocalUnicast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return e, fmt.Errorf("%q is not an address of another host", s)
	}
	return e, nil
}

// within reports whether one of the networks contains p.
func within(nets []netip.Prefix, p netip.Prefix) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Bits() <= p.Bits() && n.Contains(p.Addr()) })
}

func texts[T fmt.Stringer](list []T) []string {
	v := make([]string, 0, len(list))
	for _, e := range list {
		v = append(v, e.String())
	}
	return v
}

// quoted formats a TOML list of values that need no escapes.
func quoted[T fmt.Stringer](list []T) string {
	return `["` + strings.Join(texts(list), `", "`) + `"]`
}
