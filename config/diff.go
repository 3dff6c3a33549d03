package config

import (
	"fmt"
	"strings"
)

// Change is one difference between two configurations.
type Change struct {
	Key  string `json:"key"`           // such as "interface.mtu", "peer.NAME.endpoints"; "peer.NAME" for a whole peer
	Old  string `json:"old,omitempty"` // in TOML; "" for a new peer, "(hidden)" for a secret
	New  string `json:"new,omitempty"` // likewise; "" for a removed peer
	Live bool   `json:"live"`          // the change takes effect without a restart

	Guest bool `json:"-"` // the peer is a guest before and after the change
}

// Sign is the first character of the change's text: "+", "-" or "~".
func (c Change) Sign() string { return c.String()[:1] }

// String returns the change as one readable line.
func (c Change) String() string {
	switch {
	case c.Old == "":
		return "+ " + c.Key + " = " + c.New
	case c.New == "":
		return "- " + c.Key + " = " + c.Old
	}
	return "~ " + c.Key + " = " + c.Old + " -> " + c.New
}

// Diff lists the differences between two configurations, in the order of the schema. Diff
// identifies a peer by its public key.
func Diff(before, after *Config) (all []Change) {
	for _, s := range schema {
		if s.name != "peer" {
			all = append(all, s.diff(s.name, before, after, nil, nil)...)
		}
	}
	old := peersByKey(before)
	for i := range after.Peers {
		p := &after.Peers[i]
		if was := old[p.PublicKey]; was != nil && alike(was, p) {
			// This test is fast: in a large fleet, a change usually leaves most peers unchanged.
		} else if was != nil {
			some := sectionOf("peer").diff("peer."+was.Title(), before, after, was, p)
			for i := range some {
				some[i].Guest = was.Guest && p.Guest
			}
			all = append(all, some...)
		} else {
			all = append(all, Change{Key: "peer." + p.Title(), New: gist(p), Live: true, Guest: p.Guest})
		}
		delete(old, p.PublicKey)
	}
	for i := range before.Peers { // in the order of the file, because a map has none
		if p := &before.Peers[i]; old[p.PublicKey] != nil {
			all = append(all, Change{Key: "peer." + p.Title(), Old: gist(p), Live: true, Guest: p.Guest})
		}
	}
	return all
}

func (s sectionSpec) diff(prefix string, before, after *Config, was, is *Peer) (all []Change) {
	for _, k := range s.keys {
		a, b := k.value(before, was), k.value(after, is)
		if s.name == "peer" && k.name == "policy" { // the default, the policy of [paths], may differ
			a, b = inTOML(was.Policy), inTOML(is.Policy)
		}
		if a != b {
			all = append(all, Change{Key: prefix + "." + k.name, Old: k.shown(a), New: k.shown(b), Live: k.live})
		}
	}
	return all
}

// shown returns the text of a value in a list of differences. For a default value, it returns
// "default", so that neither the old nor the new value is empty.
func (k keySpec) shown(value string) string {
	switch {
	case value == "":
		return "default"
	case k.secret:
		return hidden
	case k.commands():
		c := concealer{known: Known{Program: func(string) bool { return true }}}
		shown, _ := c.command(value)
		return shown
	}
	return value
}

// gistPrefixes bounds the number of allowed IPs in a one-line description of a peer.
const gistPrefixes = 4

// gist describes a peer in one line.
func gist(p *Peer) string {
	list := texts(p.AllowedIPs)
	if n := len(list); n > gistPrefixes {
		list = append(list[:gistPrefixes], fmt.Sprintf("and %d more", n-gistPrefixes))
	}
	return "{ " + p.PublicKey.String() + ", allowed_ips " + strings.Join(list, " ") + " }"
}

func peersByKey(c *Config) map[Key]*Peer {
	m := make(map[Key]*Peer, len(c.Peers))
	for i := range c.Peers {
		m[c.Peers[i].PublicKey] = &c.Peers[i]
	}
	return m
}

// Title is the name of a peer in messages, or its public key if the peer has no name.
func (p *Peer) Title() string {
	if p.Name != "" {
		return p.Name
	}
	return p.PublicKey.String()
}

// Settle returns the configuration `want`, in which the keys that need a restart have their values
// from `now`. If the result contradicts itself, Settle returns an error, because then the whole
// change needs a restart.
func Settle(now, want *Config) (*Config, error) {
	c := *want
	c.File, c.copy = now.File, now.copy
	c.Interface = now.Interface
	c.Interface.Address = want.Interface.Address
	c.Paths.SourcePorts, c.Paths.PortRange, c.Paths.PathMTU = now.Paths.SourcePorts, now.Paths.PortRange, now.Paths.PathMTU
	c.Transport, c.Order, c.PeersDir = now.Transport, now.Order, now.PeersDir
	c.PeersOwner = now.PeersOwner
	c.Metrics, c.Dashboard = now.Metrics, now.Dashboard
	if sameButPeers(now, &c) && peersFit(&c) {
		return &c, nil
	}
	if err := c.sound(); err != nil {
		return nil, fmt.Errorf("a restart is needed: the keys that change only at a restart contradict the others: %w", err)
	}
	return &c, nil
}

// sameButPeers reports whether two configurations differ only in their peers.
func sameButPeers(a, b *Config) bool {
	for _, s := range schema {
		if s.name != "peer" && len(s.diff(s.name, a, b, nil, nil)) > 0 {
			return false
		}
	}
	return true
}

// peersFit reports whether the peers of c have no conflict with each other or with the rest of c.
// The peers of c and the rest of c have already been validated separately.
func peersFit(c *Config) bool {
	rest := *c
	rest.Peers = nil
	seen := newCensus(&rest, func() Around { return Around{} })
	seen.grow(len(c.Peers))
	for i := range c.Peers {
		if !seen.fits(&c.Peers[i]) {
			return false
		}
		seen.add(&c.Peers[i])
	}
	return true
}
