package config

import (
	"maps"
	"net/netip"
)

// census holds the names, keys and prefixes of peers. No two peers may share one.
type census struct {
	c        *Config
	names    map[string]string
	keys     map[Key]string
	prefixes map[netip.Prefix]string
	roles    *roles
}

func newCensus(c *Config) *census {
	s := &census{c: c, names: map[string]string{}, keys: map[Key]string{}, prefixes: map[netip.Prefix]string{}}
	own, _ := c.Interface.PrivateKey.Public() // a configuration's key is valid
	s.roles = newRoles(c.Interface.PrivateKey, own)
	for i := range c.Peers {
		s.add(&c.Peers[i])
	}
	return s
}

// grow allocates space for n peers, with the usual two prefixes each.
func (s *census) grow(n int) {
	s.names, s.keys, s.prefixes = grown(s.names, n), grown(s.keys, n), grown(s.prefixes, 2*n)
}

func grown[K comparable](m map[K]string, n int) map[K]string {
	g := make(map[K]string, len(m)+n)
	maps.Copy(g, m)
	return g
}

func (s *census) add(p *Peer) {
	from := p.File
	if from == "" {
		from = s.c.File
	}
	s.names[p.Name], s.keys[p.PublicKey] = from, from
	s.roles.add(p)
	for _, a := range p.AllowedIPs {
		s.prefixes[a] = from
	}
}

// fits reports whether admit would accept a peer that is valid by itself. It does not
// return the reason.
func (s *census) fits(p *Peer) bool {
	if _, dup := s.names[p.Name]; dup && p.Name != "" {
		return false
	}
	if _, dup := s.keys[p.PublicKey]; dup || p.PublicKey == s.roles.own || !p.PublicKey.usable() || s.roles.wrongPublic(p)+s.roles.wrongShared(p) != "" {
		return false
	}
	own := make(map[netip.Prefix]bool, len(p.AllowedIPs))
	for _, a := range p.AllowedIPs {
		if _, dup := s.prefixes[a]; dup || own[a] {
			return false
		}
		own[a] = true
	}
	_, loops := loopsBack(&s.c.Interface, p)
	return !loops && len(s.keys) < maxPeers
}

// admit adds a peer if it fits with the earlier ones.
func (s *census) admit(p *Peer, at section) error {
	before := func(where string) string { return "in " + where }
	if from, dup := s.names[p.Name]; dup && p.Name != "" {
		at.fail("name", "%s names another peer already, %s", quoted(p.Name), before(from))
	}
	wrong := s.roles.wrongPublic(p)
	switch from, dup := s.keys[p.PublicKey]; {
	case p.PublicKey == s.roles.own:
		at.fail("public_key", "is this interface's own key")
	case wrong != "":
		at.fail("public_key", "%s", wrong)
	case dup:
		at.fail("public_key", "belongs to another peer already, %s", before(from))
	case !p.PublicKey.usable():
		at.fail("public_key", "is no usable key: it gives the same secret to everyone")
	}
	if why := s.roles.wrongShared(p); why != "" && wrong == "" {
		at.fail(at.either("preshared_key"), "%s", why)
	}
	own := map[netip.Prefix]bool{}
	for i, a := range p.AllowedIPs {
		if from, dup := s.prefixes[a]; dup {
			at.failAt(at.itemOff("allowed_ips", i), "allowed_ips", "%s belongs to another peer already, %s", a, before(from))
		} else if own[a] {
			at.failAt(at.itemOff("allowed_ips", i), "allowed_ips", "%s is listed twice", a)
		}
		own[a] = true
	}
	d := draft{cfg: &Config{Interface: s.c.Interface, Peers: []Peer{*p}}, peers: []section{at}}
	d.checkOuterRoutes()
	if len(s.c.Peers)+1 > maxPeers {
		at.failAt(at.at.off, "", "more than %d peers", maxPeers)
	}
	if err := at.doc.first(); err != nil {
		return err
	}
	s.add(p)
	return nil
}
