package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// A handshake proves an address: the reply to a handshake packet shows that the packet was
// received at the address to which it was sent. If the packet was sent to two addresses,
// the reply proves neither. The packet may have been received at the other address, and the
// source address of the reply may be forged.

// responded handles the first packet under keys that this end made as responder. The packet
// arrived on t, the tuple of our response. If `sole` is true, the response was sent to no
// other address, and t is proven. Otherwise t must be validated by a challenge, unless it
// is already.
func (ps *paths) responded(now mono.Time, t Tuple, sole bool) {
	p := ps.find(t)
	if p == nil && sole {
		p = ps.openPath(now, t, false)
	}
	if p != nil && p.state != PathActive && (sole || p.validated) {
		ps.met(now, p)
	}
}

// initiated handles a response of n bytes, on t, to our initiation. The response proves t
// if the initiation was sent only to t's address. The argument `sole` is that only address.
func (ps *paths) initiated(now mono.Time, t Tuple, n int, sole netip.Addr) {
	p := ps.find(t)
	if p == nil && ps.listed(t) {
		p = ps.openPath(now, t, true) // there was no path, because it was not needed before
	}
	switch {
	case p == nil:
		ps.candidates.Earn(now, t.Remote.Addr(), n, ps.trusts)
		ps.candidates.Hear(now, t, t.Remote.Addr(), ps.candidateWait(0))
	case p.state != PathActive && (p.validated || t.Remote.Addr() == sole):
		ps.met(now, p)
	case p.state == PathCandidate:
		ps.askHere(now, p)
	}
}

// met takes p into use, because a handshake has proven p's address. The packets of a
// handshake are small, so full packets on p are probed at once.
func (ps *paths) met(now mono.Time, p *path) {
	p.unsized = p.unsized || !p.validated
	ps.activate(now, p)
}
