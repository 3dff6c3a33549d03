// Package peerid finds a peer by its name, its public key or an address. The package also checks
// that a name looks like neither a key nor an address. All programs find peers with this
// package, so that the same word always names the same peer.
package peerid

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
)

var (
	// keyShape matches a public key with or without its padding.
	keyShape = regexp.MustCompile(`^[A-Za-z0-9+/]{43}=?$`)
	// endpointShape matches a host and a port.
	endpointShape = regexp.MustCompile(`^(\[\S+\]|[^\s:]+):[0-9]{1,5}$`)
)

// A name that looks like a key or an address could stand for another peer.
var (
	errAddress  = errors.New("a name cannot be an address: an address stands for the peer that it belongs to")
	errPrefix   = errors.New("a name cannot be a prefix")
	errEndpoint = errors.New("a name cannot be an endpoint, with a port")
	errDrawn    = errors.New("a name cannot look like a key: everybody may see names, and the key may be secret")
	errKey      = errors.New("a name cannot look like a public key: a key stands for the peer that has it")
)

// CheckName returns an error for a text that cannot name a peer. A name must not look like an
// address, a prefix, an endpoint or a key, and must not have invisible characters.
func CheckName(s string) error {
	given := s
	s = strings.TrimSpace(s)
	if endpointShape.MatchString(s) {
		return errEndpoint
	}
	s = strings.Trim(s, "[]")
	if _, err := netip.ParseAddr(s); err == nil {
		return errAddress
	}
	if addr, bits, ok := strings.Cut(s, "/"); ok {
		if _, err := netip.ParseAddr(addr); err == nil && strings.Trim(bits, "0123456789") == "" {
			return errPrefix
		}
	}
	if keyShape.MatchString(s) {
		return errKey
	}
	if keytext.Drawn(s) {
		return errDrawn
	}
	return checkLook(given)
}
