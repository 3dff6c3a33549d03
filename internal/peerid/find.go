package peerid

import (
	"net/netip"

	"github.com/srdtun/srdtun/internal/keytext"
)

// Find returns the index of the peer that `who` names among n peers, or -1. An address inside
// the tunnel names the peer with the longest matching prefix. Other texts are public keys or
// names. The function called() returns the name of peer i (or "") and the key of peer i. The
// function inside() returns the prefixes of peer i.
func Find(who string, n int, called func(i int) (name, key string), inside func(i int) []netip.Prefix) int {
	if a, err := netip.ParseAddr(who); err == nil {
		return holder(a, n, inside)
	}
	found := -1
	for i := range n {
		name, key := called(i)
		if who != "" && who == key {
			return i
		}
		if who != "" && who == name && found < 0 {
			found = i
		}
	}
	return found
}

// holder returns the peer with the longest prefix that contains an address.
func holder(a netip.Addr, n int, inside func(i int) []netip.Prefix) int {
	found, most := -1, -1
	for i := range n {
		for _, p := range inside(i) {
			if p.Bits() > most && p.Contains(a) {
				found, most = i, p.Bits()
			}
		}
	}
	return found
}

// Missed returns what to add to a message that Find has found no peer: "", or the reason why a
// text that looks like a key names none.
func Missed(who string) string {
	if _, err := keytext.ParsePublic(who); err != nil && keytext.Drawn(who) {
		return ": a public key has one spelling, as srdtun show prints it"
	}
	return ""
}
