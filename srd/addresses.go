package srd

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd/steer"
)

// Addresses is told by every Conn of a process where its peer is: from these addresses
// handshakes have a share of the host's time that no stranger can take (Endpoint.Prefer).
// An address is held as often as Conns hold it.
type Addresses interface {
	Hold(netip.Addr)
	Release(netip.Addr)
}

// AddressSet is Addresses without a lock. The zero value is empty.
type AddressSet struct{ holders map[netip.Addr]int }

// Hold implements Addresses.
func (s *AddressSet) Hold(a netip.Addr) {
	if s.holders == nil {
		s.holders = map[netip.Addr]int{}
	}
	s.holders[a.Unmap()]++
}

// Release implements Addresses.
func (s *AddressSet) Release(a netip.Addr) {
	a = a.Unmap()
	if s.holders[a]--; s.holders[a] <= 0 {
		delete(s.holders, a)
	}
}

// Has reports whether anybody holds a.
func (s *AddressSet) Has(a netip.Addr) bool { return s.holders[a.Unmap()] > 0 }

// heldMost bounds the addresses that one peer has a share reserved for: more than hosts
// have uplinks, and few enough that a peer with a network of its own takes no table.
const heldMost = 32

// holding is what a Conn holds.
type holding struct {
	addrs  []netip.Addr
	usable steer.Set // the paths that worked when they were noted
}

// add notes an address once.
func (h *holding) add(a netip.Addr) {
	if len(h.addrs) < heldMost && !slices.Contains(h.addrs, a) {
		h.addrs = append(h.addrs, a)
	}
}
