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
func (c *Conn) respond(now mono.Time, to Tuple, n int) {
	l := &c.session.last
	switch {
	case !c.sendBack(now, to, n, l.b):
	case len(l.on) <= echoes:
		l.on = append(l.on, to)
	default:
		l.more = true
	}
}

// sendBack sends a handshake packet to where one of n bytes came from, which pays for it. It
// reports whether that was enough.
func (c *Conn) sendBack(now mono.Time, to Tuple, n int, b []byte) bool {
	c.candidates.Earn(now, to.Remote.Addr(), n)
	if len(c.session.out) >= mostRaw {
		c.drop(DropHandshakeCopy)
		return false
	}
	if !c.pay(to.Remote.Addr(), len(b)) {
		return false
	}
	c.session.out = append(c.session.out, rawPacket{to, b})
	return true
}

// responded takes it that the first packet under keys that we made as responder, those of
// index, came on t. That proves t if our response went there and to no other address.
// Where it went elsewhere too, t must answer a challenge, unless it has done so before.
// Where the response before the newest went is not remembered.
func (c *Conn) responded(now mono.Time, t Tuple, index uint32) {
	if c.session.last.index != index {
		return
	}
	on, sole := false, !c.session.last.more && soleAddr(c.session.last.on).IsValid()
	for _, u := range c.session.last.on {
		on = on || u == t
	}
	if !on {
		return
	}
	p := c.find(t)
	if p == nil && sole {
		p = c.openPath(now, t, false)
	}
	if p != nil && p.state != PathActive && (sole || p.validated) {
		c.met(now, p)
	}
}

// calledBack takes it that the response to our initiation, of n bytes, came on t. That
// proves t if it is where we called, and no other address was (sole).
func (c *Conn) calledBack(now mono.Time, t Tuple, n int, sole netip.Addr) {
	p := c.find(t)
	switch {
	case p == nil:
		c.candidates.Earn(now, t.Remote.Addr(), n)
		c.candidates.Hear(now, t, t.Remote.Addr(), c.firstWait())
	case p.state != PathActive && (p.validated || t.Remote.Addr() == sole):
		c.met(now, p)
	case p.state == PathCandidate:
		p.probe.next = now
	}
}

// met takes p into use, as a handshake has proven it. Its packets are small: whether full
// ones pass is asked at once.
func (c *Conn) met(now mono.Time, p *path) {
	p.unsized = p.unsized || !p.validated
	c.activate(now, p)
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
