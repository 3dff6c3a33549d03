package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Format writes a configuration as a file from which Parse returns the same configuration. The
// file contains all secrets, and names no key file. Format leaves out the peers of drop-in files.
func Format(c *Config) []byte { return format(c, func(p *Peer) bool { return p.File == "" }) }

// Digest returns 16 hexadecimal digits that stand for the values of a configuration, with its keys
// and without the peers of drop-in files. Comments and the order of keys do not count.
func Digest(c *Config) string {
	sum := sha256.Sum256(Format(c))
	return hex.EncodeToString(sum[:8])
}

// formatAll is like Format, but includes the peers of drop-in files.
func formatAll(c *Config) []byte { return format(c, func(*Peer) bool { return true }) }

func format(c *Config, with func(*Peer) bool) []byte {
	var b strings.Builder
	for _, s := range schema {
		if s.name != "peer" {
			s.write(&b, c, nil)
		}
	}
	writePeers(&b, c, with)
	return []byte(b.String())
}

func writePeers(b *strings.Builder, c *Config, with func(*Peer) bool) {
	for i := range c.Peers {
		if with(&c.Peers[i]) {
			sectionOf("peer").write(b, c, &c.Peers[i])
		}
	}
}

// write writes a section with those keys whose values differ from the defaults.
func (s sectionSpec) write(b *strings.Builder, c *Config, p *Peer) {
	head := header(s.name) + "\n"
	if b.Len() > 0 {
		head = "\n" + head
	}
	for _, k := range s.keys {
		if v := k.value(c, p); v != "" {
			fmt.Fprintf(b, "%s%s = %s\n", head, k.name, v)
			head = ""
		}
	}
}

func sectionOf(name string) sectionSpec {
	for _, s := range schema {
		if s.name == name {
			return s
		}
	}
	panic("config: no section " + name)
}

// values returns the values of all keys in the section.
func (s sectionSpec) values(c *Config, p *Peer) (v []string) {
	for _, k := range s.keys {
		v = append(v, k.value(c, p))
	}
	return v
}
