package peerid

import "net/netip"

// Find returns which of n peers is meant, or -1: that with the longest prefix that holds an
// address inside the tunnel, or that with this public key, or of this name. called returns a
// peer's name, "" for none, and its key; inside its prefixes.
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

// holder returns which peer has the longest prefix that holds an address.
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
