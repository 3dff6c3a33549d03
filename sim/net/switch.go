package net

import (
	"net/netip"
	"slices"
)

// Switch forwards packets by destination address. If an address has several next hops, a hash of
// the five-tuple selects one, as in ECMP. Packets with the same 4-tuple therefore stay in order.
type Switch struct {
	Seed    uint64 // seed of the hash; changing it simulates a route change
	Default []Node // next hops for addresses without a route
	// Choose returns the next hop of a packet, in place of the hash; nil: the hash.
	Choose func(p *Packet, next []Node) Node

	NoRoute uint64 // packets dropped for lack of a route

	engine *Engine
	noun   Noun
	routes [][]Node // next hops by the number of the address; nil: none
}

// NewSwitch returns a switch without routes.
func (e *Engine) NewSwitch(name string, seed uint64) *Switch {
	return &Switch{Seed: seed, engine: e, noun: e.Name(name)}
}

// Route adds next hops for an address.
func (s *Switch) Route(to netip.Addr, next ...Node) {
	r := s.route(to)
	*r = append(*r, next...)
}

// route returns the entry of an address.
func (s *Switch) route(to netip.Addr) *[]Node {
	n := s.engine.place(to)
	for len(s.routes) <= int(n) {
		s.routes = append(s.routes, nil)
	}
	return &s.routes[n]
}

// Avoid removes a next hop of an address, as a routing protocol does after a failure of the next
// hop. Avoid returns the number of remaining next hops.
func (s *Switch) Avoid(to netip.Addr, next Node) int {
	r := s.route(to)
	hops := *r
	if hops == nil {
		hops = s.Default
	}
	hops = slices.DeleteFunc(slices.Clone(hops), func(n Node) bool { return n == next })
	if hops == nil {
		hops = []Node{}
	}
	*r = hops
	return len(hops)
}

// Receive implements net.Node, and forwards a packet.
func (s *Switch) Receive(p *Packet) {
	if p.to == 0 {
		p.to = s.engine.place(p.Dst.Addr()) + 1
	}
	next := s.Default
	if i := int(p.to) - 1; i < len(s.routes) && s.routes[i] != nil {
		next = s.routes[i]
	}
	if len(next) == 0 {
		s.NoRoute++
		s.engine.Note(s.noun, "drops: no route", p.Digest(), 0, 0)
		s.engine.Free(p)
		return
	}
	if s.Choose != nil {
		s.Choose(p, next).Receive(p)
		return
	}
	next[p.Hash(s.Seed)%uint64(len(next))].Receive(p)
}
