package config

import (
	"fmt"
	"maps"
	"net/netip"
)

// census records the names, keys and prefixes of all accepted peers. Two peers must not share a
// name, a key or a prefix.
type census struct {
	c        *Config
	roles    *roles
	peers    int
	names    map[string]string
	keys     map[Key]string
	prefixes map[netip.Prefix]string

	// Most configurations have no guest peers, and their census needs no grants. The field roots
	// has the peers before the first guest peer.
	grants *grants // nil before the first guest peer
	roots  []*Peer
	around func() Around
}

// newCensus returns a census of the peers of c. The census calls the function around() if there are
// guest peers. The census keeps references to its peers.
func newCensus(c *Config, around func() Around) *census {
	s := &census{c: c, names: map[string]string{}, keys: map[Key]string{}, prefixes: map[netip.Prefix]string{}, around: around}
	own, _ := c.Interface.PrivateKey.Public() // no error: the private key has been validated
	s.roles = newRoles(c.Interface.PrivateKey, own)
	for i := range c.Peers {
		s.add(&c.Peers[i])
	}
	return s
}

// grow allocates space for n peers with two prefixes each, which is usual.
func (s *census) grow(n int) {
	s.names, s.keys, s.prefixes = grown(s.names, n), grown(s.keys, n), grown(s.prefixes, 2*n)
}

func grown[K comparable](m map[K]string, n int) map[K]string {
	g := make(map[K]string, len(m)+n)
	maps.Copy(g, m)
	return g
}

// fileOf returns the file of a peer.
func (s *census) fileOf(p *Peer) string {
	if p.File == "" {
		return s.c.File
	}
	return p.File
}

// granted returns the grants, for a guest peer.
func (s *census) granted() *grants {
	if s.grants == nil {
		s.grants = newGrants(s.c, s.around())
		for _, p := range s.roots {
			s.grants.add(p, s.fileOf(p))
		}
		s.roots = nil
	}
	return s.grants
}

func (s *census) add(p *Peer) {
	from := s.fileOf(p)
	s.peers++
	s.roles.add(p)
	s.names[p.Name], s.keys[p.PublicKey] = from, from
	for _, a := range p.AllowedIPs {
		s.prefixes[a] = from
	}
	if s.grants == nil && !p.Guest {
		s.roots = append(s.roots, p)
	} else {
		s.granted().add(p, from)
	}
}

// clash is a conflict of a peer with an earlier peer or with the rest of the configuration.
type clash struct {
	key  string // key of the peer's section; "": the whole peer
	item int    // index in the key's list, or allOfIt for the whole value
	why  string
}

// allOfIt marks a clash that concerns the whole value of a key, not one item.
const allOfIt = -1

// fits reports whether a valid peer has no clash.
func (s *census) fits(p *Peer) bool { return len(s.clashes(p)) == 0 }

// clashes returns the conflicts of a peer that is valid by itself.
func (s *census) clashes(p *Peer) (v []clash) {
	note := func(key string, item int, format string, args ...any) {
		v = append(v, clash{key, item, fmt.Sprintf(format, args...)})
	}
	if from, dup := s.names[p.Name]; dup && p.Name != "" {
		note("name", allOfIt, "%s names another peer already, in %s", quoted(p.Name), from)
	}
	wrong := s.roles.wrongPublic(p)
	switch from, dup := s.keys[p.PublicKey]; {
	case p.PublicKey == s.roles.own:
		note("public_key", allOfIt, "is this interface's own key")
	case wrong != "":
		note("public_key", allOfIt, "%s", wrong)
	case dup:
		note("public_key", allOfIt, "belongs to another peer already, in %s", from)
	case !p.PublicKey.usable():
		note("public_key", allOfIt, "is not a usable key: it gives the same secret to everyone")
	}
	if why := s.roles.wrongShared(p); why != "" && wrong == "" {
		note("preshared_key", allOfIt, "%s", why)
	}
	own := make(map[netip.Prefix]bool, len(p.AllowedIPs))
	for i, a := range p.AllowedIPs {
		if from, dup := s.prefixes[a]; dup {
			note("allowed_ips", i, "%s belongs to another peer already, in %s", a, from)
		} else if own[a] {
			note("allowed_ips", i, "%s is listed twice", a)
		}
		own[a] = true
	}
	if j, loops := loopsBack(&s.c.Interface, p); loops {
		note("endpoints", j, "%s", loopOf(p, j))
	}
	if s.peers >= maxPeers {
		note("", allOfIt, "there are %d peers already, and more are not allowed", maxPeers)
	}
	if p.Guest {
		v = append(v, s.granted().clashes(p)...)
	}
	return v
}

// admit adds a peer to the census if it has no clash with earlier peers.
func (s *census) admit(p *Peer, at section) error {
	for _, v := range s.clashes(p) {
		switch {
		case v.key == "":
			at.doc.fail(at.at.off, at.name, nil, v.why)
		case v.item == allOfIt:
			at.fail(at.either(v.key), "%s", v.why)
		default:
			at.failAt(at.itemOff(v.key, v.item), v.key, "%s", v.why)
		}
	}
	if err := at.doc.first(); err != nil {
		return err
	}
	s.add(p)
	return nil
}
