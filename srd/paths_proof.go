package srd

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// What a handshake proves of an address: that somebody is there who can read what was sent
// there. If the same was sent elsewhere too, that may have been read there, and the
// answer have been given a false source address.

// respond sends our response to where an initiation of n bytes came from, which pays for
// it.
func (s *session) respond(now mono.Time, to Tuple, n int) {
	l := &s.last
	switch {
	case !s.sendBack(now, to, n, l.b):
	case len(l.on) <= echoes:
		l.on = append(l.on, to)
	default:
		l.more = true
	}
}

// sendBack sends a handshake packet to where one of n bytes came from, which pays for it. It
// reports whether that was enough.
func (s *session) sendBack(now mono.Time, to Tuple, n int, b []byte) bool {
	s.paths.candidates.Earn(now, to.Remote.Addr(), n, s.paths.trusts)
	if len(s.out) >= mostRaw {
		s.drop(DropHandshakeCopy)
		return false
	}
	if !s.paths.pay(to.Remote.Addr(), len(b)) {
		return false
	}
	s.out = append(s.out, rawPacket{to, b})
	return true
}

// responded takes it that the first packet under keys that we made as responder, those of
// index, came on t. That proves t if our response went there and to no other address.
// Where it went elsewhere too, t must answer a challenge, unless it has done so before.
// Where the response before the newest went is not remembered.
func (ps *paths) responded(now mono.Time, t Tuple, index uint32) {
	if ps.session.last.index != index {
		return
	}
	on, sole := false, !ps.session.last.more && soleAddr(ps.session.last.on).IsValid()
	for _, u := range ps.session.last.on {
		on = on || u == t
	}
	if !on {
		return
	}
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
	switch {
	case p == nil:
		ps.candidates.Earn(now, t.Remote.Addr(), n, ps.trusts)
		ps.candidates.Hear(now, t, t.Remote.Addr(), ps.firstWait())
	case p.state != PathActive && (p.validated || t.Remote.Addr() == sole):
		ps.met(now, p)
	case p.state == PathCandidate:
		p.probe.next = now
	}
}

// met takes p into use, as a handshake has proven it. Its packets are small: whether full
// ones pass is asked at once.
func (ps *paths) met(now mono.Time, p *path) {
	p.unsized = p.unsized || !p.validated
	ps.activate(now, p)
}

// soleAddr returns the remote address of all of tuples, if it is but one.
func soleAddr(tuples []Tuple) (a netip.Addr) {
	for i, t := range tuples {
		if i > 0 && t.Remote.Addr() != a {
			return netip.Addr{}
		}
		a = t.Remote.Addr()
	}
	return a
}
