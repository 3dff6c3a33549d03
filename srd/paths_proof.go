package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// What a handshake proves of an address: that somebody is there who can read what was sent
// there. If the same was sent elsewhere too, that may have been read there, and the
// answer have been given a false source address.

// responded takes it that the first packet under keys that we made as responder came on t,
// where our response went, and to no other address if sole is set: that proves t. Where it
// went elsewhere too, t must answer a challenge, unless it has done so before.
func (ps *paths) responded(now mono.Time, t Tuple, sole bool) {
	p := ps.find(t)
	if p == nil && sole {
		p = ps.openPath(now, t, false)
	}
	if p != nil && p.state != PathActive && (sole || p.validated) {
		ps.met(now, p)
	}
}

// calledBack takes it that the response to our initiation, of n bytes, came on t. That
// proves t if it is where we called, and no other address was (sole).
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

// met takes p into use, as a handshake has proven it. Its packets are small: whether full
// ones pass is asked at once.
func (ps *paths) met(now mono.Time, p *path) {
	p.unsized = p.unsized || !p.validated
	ps.activate(now, p)
}
