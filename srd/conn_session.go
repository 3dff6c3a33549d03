package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// meet notes the peer's incarnation, which has just been proven. If it differs from the
// former one, all state of the former is cleared in one step, its keys included.
func (c *Conn) meet(now mono.Time, incarnation uint64) {
	s := &c.session
	// This applies to the first meeting as well: a late packet under the keys of another
	// process must not bring that process back.
	for _, e := range []**epoch{&s.next, &s.other} {
		if *e != nil && (*e).peer != incarnation {
			c.session.retire(e)
		}
	}
	if s.met && s.incarnation != incarnation {
		c.session.retire(&s.send)
		c.session.retire(&s.prev)
		c.forget(now)
	}
	s.met, s.incarnation = true, incarnation
}

// confirm handles the first packet under keys that we made as responder. The packet proves
// that the initiator has the keys. If our response went to one address alone, it also
// proves that address (RFC 9000 section 8.1). The initiation proves neither, because it may
// be a recording. If we believed the incarnation in a recording, we would number messages
// anew, and the real peer would drop them as duplicates.
func (c *Conn) confirm(now mono.Time, p *Packet) {
	s := &c.session
	var e *epoch
	switch {
	case s.next != nil && s.next.recv == p.Keys:
		e, s.next = s.next, nil
		c.session.retire(&s.other)
	case s.other != nil && s.other.recv == p.Keys:
		// The newer epoch stays: our response to it may be on its way to the initiator.
		e, s.other = s.other, nil
	default:
		return
	}
	c.meet(now, e.peer)
	c.env.took = now.Sub(e.created)
	if c.session.keeps(e) {
		c.session.retire(&s.prev)
		s.prev, e.crossed, e.dies = e, true, now.Add(max(previousLife, 3*c.recovery.pto()))
	} else {
		c.session.begin(now, e)
	}
	s.calls.abandon()
	if there, sole := s.last.went(p.Tuple, e.recv.local); there {
		c.paths.responded(now, p.Tuple, sole)
	}
	c.paths.begin(now)
}

// Close tells the peer on one path that the session ends, and forgets the keys.
func (c *Conn) Close(now mono.Time, t *Train) bool {
	defer func() {
		c.session.retire(&c.session.send)
		c.session.retire(&c.session.prev)
		c.session.retire(&c.session.next)
		c.session.retire(&c.session.other)
		c.session.calls.abandon()
		c.session.dropAddresses()
		c.recovery.out.reset()
	}()
	return c.Farewell(now, t)
}

// Farewell tells the peer on one path that the session ends, as Close does, but forgets
// nothing. Packets on their way here can still be opened. It reports whether there was a
// session.
func (c *Conn) Farewell(now mono.Time, t *Train) bool {
	p := c.sender.ackPath()
	if p == nil || !c.session.ready(now) {
		return false
	}
	t.at = now
	c.recovery.single(t, p, 0, 0, func(b []byte) []byte { return wire.AppendClose(b, 0) })
	return true
}

// Connect says that there is something to send. It begins a handshake unless there is a
// session or an attempt. It reports whether there is a session.
func (c *Conn) Connect(now mono.Time) (ready bool) {
	switch ready = c.session.ready(now); {
	case ready:
		c.seek(now)
	case !c.session.calls.busy():
		c.session.call(now)
	default:
		c.session.calls.greeting = false
	}
	return ready
}

// Greet begins a handshake without anything to send, if none is under way. Then the first
// message need not wait for a handshake, and a peer that knew a former process of ours
// meets the new one. The attempts end soon: with many absent peers, endless attempts would be
// a useless load.
func (c *Conn) Greet(now mono.Time) {
	if !c.session.ready(now) && !c.session.calls.busy() {
		c.session.call(now)
		c.session.calls.greeting = true
	}
}

// seek keeps looking for a path when there is a session but none works. Then nothing is in
// flight, so no timeout can show that the peer has lost its keys.
func (c *Conn) seek(now mono.Time) {
	if !c.paths.usable.Empty() {
		return
	}
	c.env.active = now
	if c.paths.dormant {
		c.paths.wake(now)
	}
	if now.Sub(max(c.env.lastHeard, c.session.since)) > deadAfter {
		c.session.doubt(now)
	}
}

// handleResponse handles the response to one of our attempts. It consumes the attempt, so a
// second response finds none. A response that does not open changes nothing.
func (c *Conn) handleResponse(now mono.Time, from Tuple, msg []byte) {
	s := &c.session
	index, _ := handshake.ReceiverIndex(msg)
	a := s.calls.find(index)
	if a == nil {
		c.env.drop(DropHandshakeCopy)
		return
	}
	r, err := a.hs.Consume(msg)
	if err != nil {
		c.env.drop(DropHandshakeBad)
		return
	}
	begun, sole := a.begun, soleAddr(a.on)
	s.calls.answered(a)
	if r.Hello.Protocol != c.env.cfg.Protocol {
		s.refuse(now, &r)
		return
	}
	e := c.session.newEpoch(now, &r, true)
	if e == nil {
		return
	}
	e.called = begun
	if c.env.took = now.Sub(begun); c.env.took > firstRTT && !c.env.rtt.Known() {
		c.env.rtt.Add(c.env.took) // the assumed round trip would be too short (RFC 9002 section 5.2)
	}
	c.meet(now, r.Hello.Incarnation)
	c.session.begin(now, e)
	c.paths.begin(now)
	c.paths.calledBack(now, from, len(msg), sole)
}

// Session describes the keys in use, for display.
type Session struct {
	Ready     bool
	Since     mono.Time // of the newest handshake
	Cipher    handshake.Cipher
	Initiator bool
	// Features are the formats that the peer's layer above can read, as the handshake of
	// these keys said; 0 without keys. They belong to the peer's incarnation. Messages for
	// a former incarnation are never sent to a new one.
	Features uint8
	// Foreign means that one of the two ends refused the last handshake, because the peer
	// speaks another protocol. Protocol is the peer's.
	Foreign  bool
	Protocol uint32
}

// Session returns the state of the keys.
func (c *Conn) Session(now mono.Time) Session {
	s := &c.session
	v := Session{Ready: s.ready(now), Since: s.since, Foreign: s.foreign.until != 0, Protocol: s.foreign.protocol}
	if s.send != nil {
		v.Cipher, v.Initiator, v.Features = s.send.cipher, s.send.initiator, s.send.features
	}
	return v
}

// forget clears all state of the peer's former incarnation in one step: received messages,
// packets in flight, and every path.
func (c *Conn) forget(now mono.Time) {
	n := c.recovery.out.reset()
	c.env.stats.Drops[DropIncarnation] += uint64(n)
	for _, p := range c.paths.table {
		for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
			if k := p.sent.At(pn); k.State == ledger.InFlight {
				c.recovery.land(p, k)
				k.State = ledger.Acked
			}
		}
		c.recovery.settleFreed(p)
		p.largest = 0
		p.peerCE = 0
	}
	c.receiver.in = [steer.MaxPaths + 1]*inPath{}
	c.paths.forget()
	c.receiver.pending, c.receiver.ack, c.receiver.acked = nil, ackState{}, ackedOn{}
	c.receiver.inbox = seq.Window{}
	c.receiver.received, c.receiver.taken = nil, 0
	c.choice.steering.copies = copies{}
	c.choice.steering.gauge.Reset()
	c.recovery.timer = lossTimer{progress: now, lastSent: now}
	c.env.hosts.forget()
	c.restarted = true
}

// Restarted reports, once, that the peer has a new incarnation. The layer above must then
// forget what it knew about the peer.
func (c *Conn) Restarted() bool {
	r := c.restarted
	c.restarted = false
	return r
}

// lied ends the session with a peer that has acknowledged packets it cannot have received.
// The peer is neither called nor answered until its wait is over. The next session begins
// with a new window, because lies may have grown the old one.
func (c *Conn) lied(now mono.Time) {
	s := &c.session
	s.liar.again(now)
	c.session.closeSession(now)
	c.session.retire(&s.next)
	c.session.retire(&s.other)
	s.calls.abandon()
	s.last, s.out = response{}, nil
	c.env.cfg.Control.Reset()
	if !c.recovery.out.empty() || c.env.cfg.Keepalive > 0 {
		s.callAt = s.liar.until
	}
}
