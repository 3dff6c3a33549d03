package config

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/srdtun/srdtun/internal/peerid"
)

// readPeer parses a peer section. A peer without its own policy gets the argument policy.
func readPeer(s section, policy string) Peer {
	seconds := s.numberOr("persistent_keepalive", 0, maxKeepaliveSeconds, "off")
	return Peer{
		Name:                s.peerName("name"),
		PublicKey:           s.publicKey("public_key"),
		PresharedKey:        s.secret("preshared_key"),
		Endpoints:           s.endpoints("endpoints"),
		AllowedIPs:          s.prefixes("allowed_ips", maxAllowedIPs),
		Policy:              s.oneOf("policy", policy, Policies...),
		PersistentKeepalive: time.Duration(seconds) * time.Second,
		Expires:             s.time("expires"),
	}
}

// peerName parses a name that fits into one line of a table.
func (s section) peerName(key string) string {
	name := s.text(key, "")
	switch {
	case len(name) > maxNameBytes:
		s.fail(key, "a name has at most %d bytes", maxNameBytes)
	case slices.ContainsFunc([]rune(name), func(r rune) bool { return !unicode.IsPrint(r) }):
		s.fail(key, "a name has printable characters only")
	case name == "" && s.has(key) && kind(s.vals[key]) == "a string":
		s.fail(key, "must not be empty; leave the key out instead")
	}
	if err := peerid.CheckName(name); err != nil {
		s.fail(key, "%v", err)
	}
	return strings.Clone(name) // a part of the file would keep the whole file
}

func (s section) endpoints(key string) []Endpoint {
	var endpoints []Endpoint
	for _, it := range s.items(key, maxEndpoints) {
		e, err := parseEndpoint(it.text)
		if err == nil && slices.Contains(endpoints, e) {
			err = errors.New(quoted(it.text) + " is listed twice")
		}
		if err != nil {
			s.failAt(it.off, key, "%v", err)
			continue
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

// prefixes parses at most `limit` prefixes, and clears their host bits, as wg(8) does. It keeps the
// order of the file, because the check for duplicates needs it.
func (s section) prefixes(key string, limit int) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, it := range s.items(key, limit) {
		prefix, err := parsePrefix(it.text)
		if err != nil {
			s.failAt(it.off, key, "%v", err)
			continue
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes
}
