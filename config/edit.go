package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/internal/peerid"
)

// Setting is one KEY=VALUE: a key such as "paths.policy" or "peer.NAME.endpoints", and a
// value in TOML or, where that is a string, the string alone.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"` // "" takes the key out
}

// policyKey is what stands for the policies of all peers.
const policyKey = "paths.policy"

// With returns what c is with the settings: each is sound by itself and all are together.
// paths.policy counts for all peers, also those that name their own.
func With(c *Config, settings []Setting) (*Config, error) {
	settings = Named(c, settings)
	all := *c
	all.Peers = slices.Clone(c.Peers)
	for _, s := range settings {
		if s.Key == policyKey {
			for i := range all.Peers {
				all.Peers[i].Policy = all.Paths.Policy
			}
		}
	}
	text, err := Edit(formatAll(&all), settings)
	if err != nil {
		return nil, err
	}
	next, err := parse(c.File, unseen, text)
	if err != nil {
		return nil, plainFault(err)
	}
	next.copy = c.copy
	from := peersByKey(c)
	for i := range next.Peers {
		if was := from[next.Peers[i].PublicKey]; was != nil {
			next.Peers[i].File = was.File
		}
	}
	return next, nil
}

// Named returns settings in which peers have the name or key that they have in c: one of them
// may be an address inside the tunnel, as in "peer.10.80.0.2.policy", which stands for the peer
// with the longest prefix that holds it.
func Named(c *Config, settings []Setting) []Setting {
	v := slices.Clone(settings)
	for i, s := range v {
		name, rest, _ := strings.Cut(s.Key, ".")
		dot := strings.LastIndexByte(rest, '.')
		if name != "peer" || dot < 0 {
			continue
		}
		if p := c.peerOf(rest[:dot]); p != nil {
			v[i].Key = "peer." + p.Title() + rest[dot:]
		}
	}
	return v
}

// peerOf returns the peer that a name, a public key or an address inside the tunnel stands for;
// nil: there is none.
func (c *Config) peerOf(who string) *Peer {
	i := peerid.Find(who, len(c.Peers),
		func(i int) (string, string) { return c.Peers[i].Name, c.Peers[i].PublicKey.String() },
		func(i int) []netip.Prefix { return c.Peers[i].AllowedIPs })
	if i < 0 {
		return nil
	}
	return &c.Peers[i]
}

// plainFault drops the line of a fault, which is one of a text that nobody sees.
func plainFault(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s: %s", e.Key, e.Msg)
}

// Edit puts settings into the text of a configuration and leaves everything else as it
// is, comments too. The result is a text that Parse may still refuse.
func Edit(text []byte, settings []Setting) ([]byte, error) {
	for _, s := range settings {
		root, err := decode("", text)
		if err != nil {
			return nil, err
		}
		p, err := locateSetting(root, s.Key)
		if err != nil {
			return nil, err
		}
		if text, err = p.put(bytes.TrimPrefix(text, []byte("\ufeff")), s.Value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// spot is where a key is or would be in a text.
type spot struct {
	section section
	key     keySpec
}

// locateSetting finds the section and the key that a setting names.
func locateSetting(root section, key string) (spot, error) {
	name, rest, _ := strings.Cut(key, ".")
	k := rest
	if name == "peer" {
		k = rest[strings.LastIndexByte(rest, '.')+1:] // a name may have dots
	}
	i := slices.IndexFunc(schema, func(s sectionSpec) bool { return s.name == name })
	if i < 0 || rest == "" {
		return spot{}, fmt.Errorf("%.64q is no key; keys are such as paths.policy and peer.NAME.endpoints", key)
	}
	j := slices.IndexFunc(schema[i].keys, func(s keySpec) bool { return s.name == k })
	if j < 0 {
		return spot{}, fmt.Errorf("%.64q is no key; the nearest is %s in %s", key, nearest(k, schema[i].names()), header(name))
	}
	p := spot{key: schema[i].keys[j]}
	if name != "peer" {
		p.section = root.section(name)
	} else {
		who := strings.TrimSuffix(rest, "."+k)
		var found bool
		if p.section, found = findPeer(root, who); !found {
			return spot{}, fmt.Errorf("no peer is named %.64q", who)
		}
	}
	return p, root.doc.first()
}

// findPeer finds a peer's section by its name or public key.
func findPeer(root section, who string) (section, bool) {
	all := root.sections("peer", maxPeers)
	i := peerid.Find(who, len(all), func(i int) (string, string) {
		name, _ := all[i].vals["name"].(string)
		key, _ := all[i].vals["public_key"].(string)
		return name, key
	}, func(int) []netip.Prefix { return nil })
	if i < 0 {
		return section{}, false
	}
	return all[i], true
}
