package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// LoadPeers reads a file that has only [[peer]] sections. LoadPeers reads key files relative to
// that file. Every error of LoadPeers is an [*Error].
func LoadPeers(file string) ([]Peer, error) {
	data, _, err := readPrivate(file, MaxFileBytes)
	if err != nil {
		return nil, &Error{File: file, Msg: err.Error(), cause: err}
	}
	return parsePeers(file, data, filepath.Dir(file))
}

// ParsePeers parses peers from another user's text, and reads no file.
func ParsePeers(file string, data []byte) ([]Peer, error) { return parsePeers(file, data, sealed) }

func parsePeers(file string, data []byte, dir string) ([]Peer, error) {
	root, err := decode(file, data)
	if err != nil {
		return nil, err
	}
	root.doc.dir, root.doc.sealed = dir, dir == sealed
	root.checkKeys()
	for _, s := range schema {
		if root.has(s.name) && s.name != "peer" {
			root.fail(s.name, "only [[peer]] can be added")
		}
	}
	var peers []Peer
	for _, s := range root.sections("peer", maxPeers) {
		p := readPeer(s, DefaultPolicy)
		if !s.has("policy") {
			p.Policy = "" // the default is the policy of [paths], which this file does not have
		}
		if p.PublicKey.IsZero() {
			s.fail("public_key", "is missing")
		}
		peers = append(peers, p)
	}
	return peers, root.doc.first()
}

// FormatPeers writes peers in the form that ParsePeers reads.
func FormatPeers(peers []Peer) []byte {
	var b strings.Builder
	writePeers(&b, &Config{Peers: peers}, func(*Peer) bool { return true })
	return []byte(b.String())
}

// WithPeers returns c with the given peers added. An added peer replaces a peer of c with the
// same key.
func WithPeers(c *Config, peers []Peer) (*Config, error) {
	all := *c
	all.Peers = slices.Clone(c.Peers)
	at := make(map[Key]int, len(all.Peers))
	for i := range all.Peers {
		at[all.Peers[i].PublicKey] = i
	}
	for _, p := range peers {
		if p.Policy == "" {
			p.Policy = c.Paths.Policy
		}
		i, known := at[p.PublicKey]
		if !known {
			at[p.PublicKey] = len(all.Peers)
			all.Peers = append(all.Peers, p)
			continue
		}
		p.File, p.Guest = all.Peers[i].File, all.Peers[i].Guest
		all.Peers[i] = p
	}
	return &all, all.sound()
}

// sound returns an error if a configuration that the program assembled from parts is invalid.
func (c *Config) sound() error {
	_, err := parse(c.File, unseen, formatAll(c))
	var e *Error
	if errors.As(err, &e) {
		return plainFault(err)
	}
	return err
}
