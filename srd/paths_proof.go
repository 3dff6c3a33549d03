package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// A handshake proves an address, because somebody there could read a packet that was sent
// there. It proves nothing if the same packet went to another address too. The packet may
// have been read there, and the answer may have a forged source address.

// responded handles the first packet under keys that we made as responder. It came on t,
// where our response went. If sole is set, the response went to no other address, and t is
// proven. Otherwise t must answer a challenge, unless it has done so before.
func (ps *paths) responded(now mono.Time, t Tuple, sole bool) {
	p := ps.find(t)
	if p == nil && sole {
		p = ps.openPath(now, t, false)
	}
	if p != nil && p.state != PathActive && (sole || p.validated) {
		ps.met(now, p)
	}
}

// calledBack handles the response of n bytes to our initiation, which came on t. It proves
// t if the initiation went to that address and to no other (sole).
func (ps *paths) calledBack(now mono.Time, t Tuple, n int, sole netip.Addr) {
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

// met takes p into use, because a handshake has proven it. A handshake has small packets,
// so p is asked at once whether full ones pass.
func (ps *paths) met(now mono.Time, p *path) {
	p.unsized = p.unsized || !p.validated
	ps.activate(now, p)
}
