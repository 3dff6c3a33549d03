// Package peerid is how a peer is called: its name, which looks like nothing else, and how it is
// found by that, by its public key or by an address. Whoever looks for a peer does it here, so
// that no two places differ on who is meant.
package peerid

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

var (
	// keyShape is a public key with or without its padding.
	keyShape = regexp.MustCompile(`^[A-Za-z0-9+/]{43}=?$`)
	// endpointShape is a host and a port.
	endpointShape = regexp.MustCompile(`^(\[\S+\]|[^\s:]+):[0-9]{1,5}$`)
)

// A name that looks like something else would be found in its place.
var (
	errAddress  = errors.New("a name cannot be an address: an address stands for the peer that it belongs to")
	errPrefix   = errors.New("a name cannot be a prefix")
	errEndpoint = errors.New("a name cannot be an endpoint, with a port")
	errKey      = errors.New("a name cannot look like a public key: a key stands for the peer that has it")
)

// CheckName reports why a text cannot be the name of a peer: it looks like what else a peer is
// found by.
func CheckName(s string) error {
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
	return nil
}
