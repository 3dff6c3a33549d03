package srd

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd/steer"
)

// Addresses counts, for each known address of a peer, the Conns that hold it. Each Conn of
// a process reports its peer's addresses. Handshakes from known addresses have a reserved
// share of the processor's time (Endpoint.Prefer).
type Addresses interface {
	Hold(netip.Addr)
	Release(netip.Addr)
}

// AddressSet is an implementation of Addresses without a lock. The zero value of
// AddressSet is empty.
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

// Has reports whether a connection holds the address `a`.
func (s *AddressSet) Has(a netip.Addr) bool { return s.holders[a.Unmap()] > 0 }

// addressesMost limits the number of known addresses of one peer. A host has fewer uplinks
// than that, and so few addresses of one peer cannot fill a table.
const addressesMost = 32

// holding is the set of peer addresses that a Conn holds.
type holding struct {
	addrs  []netip.Addr
	usable steer.Set // usable paths when the addresses were last recorded
}

// add adds an address, unless the set contains it already or is full.
func (h *holding) add(a netip.Addr) {
	if len(h.addrs) < addressesMost && !slices.Contains(h.addrs, a) {
		h.addrs = append(h.addrs, a)
	}
}
