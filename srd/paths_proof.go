package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// A handshake proves an address, because the answer shows that the packet was received at
// that address. A handshake proves nothing if the same packet went to two addresses. The
// packet may have been received at the other address, and the answer may have a forged
// source address.

// responded handles the first packet under keys that this end made as responder. The
// packet arrived on t, the tuple of our response. If `sole` is set, the response went to
// no other address, and t is proven. If `sole` is not set, t must answer a challenge,
// unless t was validated before.
func (ps *paths) responded(now mono.Time, t Tuple, sole bool) {
	p := ps.find(t)
	if p == nil && sole {
		p = ps.openPath(now, t, false)
	}
	if p != nil && p.state != PathActive && (sole || p.validated) {
		ps.met(now, p)
	}
}

// initiated handles a response of n bytes, on t, to our initiation. The response proves
// t if the initiation went only to t's address (sole).
func (ps *paths) initiated(now mono.Time, t Tuple, n int, sole netip.Addr) {
	p := ps.find(t)
	if p == nil && ps.listed(t) {
		p = ps.openPath(now, t, true) // it was not needed before
	}
	switch {
	case p == nil:
		ps.candidates.Earn(now, t.Remote.Addr(), n, ps.trusts)
		ps.candidates.Hear(now, t, t.Remote.Addr(), ps.firstWait())
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
