package net

import (
	"net/netip"
	"slices"
)

// Switch forwards packets by destination address. If an address has several next hops, a hash of
// the five-tuple selects one, as in ECMP. Packets with the same 4-tuple therefore stay in order.
type Switch struct {
	Seed    uint64 // of the hash; a new one is a route change
	Default []Node // for addresses without a route

	NoRoute uint64 // packets dropped for lack of a route

	engine *Engine
	noun   Noun
	routes map[netip.Addr][]Node
}

// NewSwitch returns a switch without routes.
func (e *Engine) NewSwitch(name string, seed uint64) *Switch {
	return &Switch{Seed: seed, engine: e, noun: e.Name(name), routes: map[netip.Addr][]Node{}}
}

// Route adds next hops for an address.
func (s *Switch) Route(to netip.Addr, next ...Node) {
	s.routes[to] = append(s.routes[to], next...)
}

// Avoid removes a next hop of an address, as a routing protocol does after a failure of the next
// hop. Avoid returns the number of remaining next hops.
func (s *Switch) Avoid(to netip.Addr, next Node) int {
	hops := s.routes[to]
	if hops == nil {
		hops = s.Default
	}
	hops = slices.DeleteFunc(slices.Clone(hops), func(n Node) bool { return n == next })
	if hops == nil {
		hops = []Node{}
	}
	s.routes[to] = hops
	return len(hops)
}

// Receive implements net.Node, and forwards a packet.
func (s *Switch) Receive(p *Packet) {
	next := s.routes[p.Dst.Addr()]
	if next == nil {
		next = s.Default
	}
	if len(next) == 0 {
		s.NoRoute++
		s.engine.Note(s.noun, "drops: no route", p.Digest(), 0, 0)
		s.engine.Free(p)
		return
	}
	next[p.Hash(s.Seed)%uint64(len(next))].Receive(p)
}
