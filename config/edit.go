package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
)

// Setting is one assignment KEY=VALUE. Keys look like "paths.policy" or "peer.NAME.endpoints".
// Values are in TOML, but strings may lack their quotes.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"` // "" removes the key
}

// policyKey is the key that sets the policies of all peers.
const policyKey = "paths.policy"

// With returns c with the settings applied and validated. The setting paths.policy also replaces
// the policies of single peers.
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
			next.Peers[i].File, next.Peers[i].Guest = was.File, was.Guest
		}
	}
	return next, nil
}

// Named returns the settings with each peer named as in c, by its name or key. A setting may name a
// peer by its address inside the tunnel, as in "peer.10.80.0.2.policy". The address belongs to the
// peer with the longest matching prefix.
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

// peerOf returns the peer with this name, public key or address inside the tunnel, or nil.
func (c *Config) peerOf(who string) *Peer {
	i := peerid.Find(who, len(c.Peers),
		func(i int) (string, string) { return c.Peers[i].Name, c.Peers[i].PublicKey.String() },
		func(i int) []netip.Prefix { return c.Peers[i].AllowedIPs })
	if i < 0 {
		return nil
	}
	return &c.Peers[i]
}

// Named reports whether a setting names the peer by its name or public key.
func (p *Peer) Named(settings []Setting) bool {
	return slices.ContainsFunc(settings, func(s Setting) bool {
		rest, is := strings.CutPrefix(s.Key, "peer.")
		dot := strings.LastIndexByte(rest, '.')
		return is && dot > 0 && (rest[:dot] == p.Name || rest[:dot] == p.PublicKey.String())
	})
}

// plainFault removes the line number from a fault, because the user never sees the parsed text.
func plainFault(err error) error {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Key == "": // a fault of the whole text
		return errors.New(e.Msg)
	}
	return fmt.Errorf("%s: %s", e.Key, e.Msg)
}

// Edit applies settings to the text of a configuration, and keeps the rest, including comments.
// The edited text may be an invalid configuration.
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

// spot is the position of a key in a text, even if the key does not exist yet.
type spot struct {
	section section
	key     keySpec
}

// locateSetting finds the section and the key of a setting.
func locateSetting(root section, key string) (spot, error) {
	name, rest, _ := strings.Cut(key, ".")
	k := rest
	if name == "peer" {
		k = rest[strings.LastIndexByte(rest, '.')+1:] // the peer's name may contain dots
	}
	i := slices.IndexFunc(schema, func(s sectionSpec) bool { return s.name == name })
	if i < 0 || rest == "" {
		return spot{}, fmt.Errorf("%s is not a key; %s", keytext.Quote(key), meant(key))
	}
	j := slices.IndexFunc(schema[i].keys, func(s keySpec) bool { return s.name == k })
	if j < 0 {
		return spot{}, fmt.Errorf("%s is not a key; %s", keytext.Quote(key), meantIn(name, k))
	}
	if name == "peer" && rest == k {
		return spot{}, fmt.Errorf("%s names no peer; write peer.NAME.%s", keytext.Quote(key), k)
	}
	p := spot{key: schema[i].keys[j]}
	if name != "peer" {
		p.section = root.section(name)
	} else {
		who := strings.TrimSuffix(rest, "."+k)
		var found bool
		if p.section, found = findPeer(root, who); !found {
			return spot{}, fmt.Errorf("no peer is named %s%s", keytext.Quote(who), peerid.Missed(who))
		}
	}
	return p, root.doc.first()
}

// meantIn suggests a known key in place of a key that the section does not have.
func meantIn(section, key string) string {
	home, spelled := spelling(section, key)
	switch {
	case section == "peer" && home == "interface" && strings.HasPrefix(spelled, "private_key"):
		return insteadOfPrivate
	case spelled == "":
		return fmt.Sprintf("no key of %s is similar", header(section))
	case home == section:
		return fmt.Sprintf("the nearest is %s in %s", spelled, header(home))
	}
	return fmt.Sprintf("the nearest is %s in %s: %s", spelled, header(home), typed(home, "NAME", spelled))
}

// meant suggests a known key in place of a key whose section is missing or unknown.
func meant(key string) string {
	const usual = "keys look like paths.policy and peer.NAME.endpoints"
	section, rest, dotted := strings.Cut(key, ".")
	if !dotted {
		home, spelled := spelling("", key)
		if near, is := Near(key, keysOf(home)); home == "" || !is || near != spelled {
			return usual
		}
		return "write " + typed(home, "NAME", spelled)
	}
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	if near, is := Near(section, keysOf("")); is {
		home, spelled := spelling(near, last)
		if home == near && near != "peer" && spelled != "" {
			return "write " + typed(home, "", spelled)
		}
	}
	if near, is := Near(last, keysOf("peer")); is {
		return "write " + typed("peer", keytext.Hide(strings.TrimSuffix(key, "."+last), nil), near)
	}
	if home, spelled := spelling("", last); home != "" {
		return "write " + typed(home, "NAME", spelled)
	}
	return usual
}

// typed returns a key in the form of a Setting.
func typed(section, peer, key string) string {
	if section == "peer" {
		return "peer." + peer + "." + key
	}
	return section + "." + key
}

// findPeer finds the section of a peer by the peer's name or public key.
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
