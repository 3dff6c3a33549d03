package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// meet stores the peer's incarnation, which a packet under new keys has just proven. If the
// incarnation differs from the stored one, all state of the former incarnation is cleared
// in one step, including keys.
func (c *Conn) meet(now mono.Time, incarnation uint64) {
	s := &c.session
	// Unconfirmed keys of other incarnations are deleted even if no incarnation was known
	// before. Otherwise a late packet under such keys would restore the state of another
	// process.
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

// confirm handles the first packet under keys that this end made as responder. The packet
// proves that the initiator has the keys. If our response went to a single address, the
// packet also proves that address (RFC 9000 section 8.1). The initiation proves neither the
// keys nor the address, because it may be a replay. If this end accepted the incarnation of
// a replayed initiation, its message numbers would restart at 0, and the real peer would
// drop the messages as duplicates.
func (c *Conn) confirm(now mono.Time, p *Packet) {
	s := &c.session
	var e *epoch
	switch {
	case s.next != nil && s.next.recv == p.Keys:
		e, s.next = s.next, nil
		c.session.retire(&s.other)
	case s.other != nil && s.other.recv == p.Keys:
		// The newer epoch stays, because our response for it may still reach the
		// initiator.
		e, s.other = s.other, nil
	default:
		return
	}
	c.meet(now, e.peer)
	c.env.handshake = now.Sub(e.created)
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

// Close builds a CLOSE for the peer on one path, and deletes the keys.
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

// Farewell builds a CLOSE for the peer on one path, and keeps the keys. So packets in
// flight to this end can still be opened. Farewell reports whether there was a session.
func (c *Conn) Farewell(now mono.Time, t *Train) bool {
	p := c.sender.ackPath()
	if p == nil || !c.session.ready(now) {
		return false
	}
	t.at = now
	c.recovery.single(t, p, 0, 0, func(b []byte) []byte { return wire.AppendClose(b, 0) })
	return true
}

// Connect must be called when there is a message to send. If there is neither a session nor
// an unfinished handshake, Connect begins a handshake. Connect reports whether there is a
// session.
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

// Greet begins a handshake without a message to send, unless there is a session or an
// unfinished handshake. After a greeting the first message need not wait for a handshake,
// and the peer replaces the state of a former process of this end. The attempts end soon:
// with many absent peers, endless attempts would be a useless load.
func (c *Conn) Greet(now mono.Time) {
	if !c.session.ready(now) && !c.session.calls.busy() {
		c.session.call(now)
		c.session.calls.greeting = true
	}
}

// seek continues probing if there is a session but no path works. In this state no packet
// is in flight, so no probe timeout can show that the peer may have lost its keys.
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

// handleResponse handles the response to one of our attempts. A valid response ends the
// attempt, so a second response is dropped. A response that cannot be decrypted changes
// no state.
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
	if c.env.handshake = now.Sub(begun); c.env.handshake > firstRTT && !c.env.rtt.Known() {
		c.env.rtt.Add(c.env.handshake) // the assumed round trip would be too short (RFC 9002 section 5.2)
	}
	c.meet(now, r.Hello.Incarnation)
	c.session.begin(now, e)
	c.paths.begin(now)
	c.paths.initiated(now, from, len(msg), sole)
}

// Session describes the keys in use, for display.
type Session struct {
	Ready     bool
	Since     mono.Time // time of the newest handshake
	Cipher    handshake.Cipher
	Initiator bool
	// Incarnation is a random number of the peer's process; 0 before the first session.
	Incarnation uint64
	// Features are the formats that the peer's layer above can read, as stated in the
	// handshake of the keys; 0 without keys. Features belong to one incarnation of the
	// peer. Messages for a former incarnation are never sent to a new one.
	Features uint8
	// Foreign means that the last handshake was refused, because the peer uses another
	// protocol. Protocol is the peer's protocol.
	Foreign  bool
	Protocol uint32
}

// Session returns the state of the keys.
func (c *Conn) Session(now mono.Time) Session {
	s := &c.session
	v := Session{Ready: s.ready(now), Since: s.since, Incarnation: s.incarnation, Foreign: s.foreign.until != 0, Protocol: s.foreign.protocol}
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
		c.recovery.settleAll(p)
		p.largest = 0
		p.peerCE = 0
	}
	c.receiver.in = nil
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

// Restarted reports, once, that the peer has a new incarnation. After a restart the layer
// above must delete its state of the peer.
func (c *Conn) Restarted() bool {
	r := c.restarted
	c.restarted = false
	return r
}

// lied ends the session with a peer that has acknowledged packets without receiving them.
// For a time (type liar), this end then neither begins nor answers a handshake with the
// peer. The next session begins with a new window, because the false acknowledgements may
// have increased the window.
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
