package control

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/internal/peerid"
)

// Find returns the peer with the given name, public key or address inside the tunnel. An address
// belongs to the peer with the longest matching prefix. Find returns nil if there is no such
// peer.
func (s *Status) Find(who string) *Peer {
	i := peerid.Find(who, len(s.Peers),
		func(i int) (string, string) { return s.Peers[i].Name, s.Peers[i].PublicKey },
		func(i int) []netip.Prefix { return prefixes(s.Peers[i].AllowedIPs) })
	if i < 0 {
		return nil
	}
	return &s.Peers[i]
}

// FindExpired returns the expired peer with the given name or public key, or nil.
func (s *Status) FindExpired(who string) *Expired {
	i := slices.IndexFunc(s.Expired, func(e Expired) bool { return who != "" && (e.Name == who || e.PublicKey == who) })
	if i < 0 {
		return nil
	}
	return &s.Expired[i]
}

// prefixes parses prefixes and skips invalid ones, because a daemon may send anything.
func prefixes(texts []string) (v []netip.Prefix) {
	for _, t := range texts {
		if p, err := netip.ParsePrefix(t); err == nil {
			v = append(v, p)
		}
	}
	return v
}
