package srd

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd/steer"
)

// Addresses counts the addresses at which peers are known to be. Each Conn of a process
// reports its peer's addresses. Handshakes from these addresses have a share of the host's
// time that no stranger can take (Endpoint.Prefer). Several Conns may hold the same
// address.
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

// Has reports whether a is held.
func (s *AddressSet) Has(a netip.Addr) bool { return s.holders[a.Unmap()] > 0 }

// heldMost limits how many addresses of one peer get this share. It is more than hosts have
// uplinks, and so few that one peer with many addresses cannot fill a table.
const heldMost = 32

// holding is the set of peer addresses that a Conn holds.
type holding struct {
	addrs  []netip.Addr
	usable steer.Set // usable paths when the addresses were noted
}

// add notes an address once.
func (h *holding) add(a netip.Addr) {
	if len(h.addrs) < heldMost && !slices.Contains(h.addrs, a) {
		h.addrs = append(h.addrs, a)
	}
}
