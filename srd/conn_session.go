package srd

import (
	"bytes"
	"cmp"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Life of keys (DESIGN 4).
const (
	rekeyAfter   = 120 * time.Second
	rekeyPackets = 1 << 27 // of packetUnit bytes
	// packetUnit is the size of packet that RFC 9001, appendix B.1, reckons the limit of
	// 2^28 packets with, in bytes. A larger packet counts as several.
	packetUnit = 1 << 11
	// previousLife is how long packets under replaced keys are still taken.
	previousLife = 5 * time.Second
)

// keyLife is when keys are renewed, by the initiator or by the responder, and
// when they are not used any more. The responder renews later, so that one of the
// two does.
type keyLife struct {
	renew, renewResponse, reject time.Duration
	renewPackets, rejectPackets  uint64
}

// leastKeyLife is more than idleAfter: a handshake is heard from the peer, and
// would keep a connection busy that has nothing else to do.
const leastKeyLife = idleAfter + 2*time.Second

// lifeOf returns the life of keys that are renewed after an age, of leastKeyLife at
// least, or a number of packets; 0 stands for what the protocol has.
func lifeOf(age time.Duration, packets uint64) keyLife {
	age, packets = max(leastKeyLife, cmp.Or(age, rekeyAfter)), cmp.Or(packets, rekeyPackets)
	return keyLife{
		renew: age, renewResponse: age * 5 / 4, reject: age * 3 / 2,
		renewPackets: packets, rejectPackets: 2 * packets,
	}
}

// session is the key state of a connection.
type session struct {
	life keyLife
	send *epoch // what packets are sealed with; nil: no session
	prev *epoch // replaced, still opens
	next *epoch // ours as responder, not used before the initiator has
	// other was made before next, and the initiator has not used it either.
	other *epoch

	calls   calls
	call    mono.Time // when to call again though there is nothing to send; 0: not planned
	stamper *handshake.Stamper
	replay  handshake.Replay
	out     []rawPacket
	last    response
	liar    liar

	incarnation uint64 // the peer's
	met         bool   // incarnation is known
	since       mono.Time
}

// epoch is one set of keys.
type epoch struct {
	keys      *SendKeys
	recv      *RecvKeys
	created   mono.Time
	called    mono.Time // begun by us: when the initiation went out
	dies      mono.Time // set when replaced
	initiator bool
	heard     bool   // the peer has used them
	proven    bool   // begun by us: the peer was sent something to see that we have them
	crossed   bool   // made as responder, for an initiation that met ours on the way
	sent      uint64 // packets sealed with them, in packetUnits
	cipher    handshake.Cipher
	peer      uint64 // the peer's incarnation
}

// rawPacket is a handshake packet to be sent.
type rawPacket struct {
	tuple Tuple
	b     []byte
}

// response is our answer to the newest initiation, kept for its copies.
type response struct {
	mac   [16]byte // of the initiation: its mac1
	index uint32   // ours
	b     []byte
	left  int     // copies of the initiation that are answered, from where the peer is known
	again int     // cookies that are
	on    []Tuple // where it went first

	copies limiter // from elsewhere
	more   bool    // it went to more places than are noted
}

// answers reports whether a packet for index that comes from a tuple may be about it.
func (r *response) answers(index uint32, from Tuple) bool {
	return r.b != nil && r.index == index && anyReaches(r.on, from)
}

func (s *session) ready(now mono.Time) bool {
	return s.send != nil && now.Sub(s.send.created) < s.life.reject && s.send.sent < s.life.rejectPackets
}

// accepts reports whether k may still open packets.
func (s *session) accepts(now mono.Time, k *RecvKeys) bool {
	for _, e := range []*epoch{s.send, s.next, s.prev, s.other} {
		if e != nil && e.recv == k {
			return now.Sub(e.created) < s.life.reject && (e.dies == 0 || now < e.dies)
		}
	}
	return false
}

// newEpoch makes keys of a finished handshake and publishes the receiving half.
func (c *Conn) newEpoch(now mono.Time, r *handshake.Result, initiator bool) *epoch {
	seal, err1 := r.Cipher.New(r.Send.Key)
	open, err2 := r.Cipher.New(r.Recv.Key)
	if err1 != nil || err2 != nil {
		c.cfg.Indexes.Release(r.LocalIndex)
		c.drop(DropHandshakeBad)
		return nil
	}
	e := &epoch{
		keys:      &SendKeys{aead: seal, iv: r.Send.IV, remote: r.RemoteIndex},
		recv:      &RecvKeys{Conn: c, aead: open, iv: r.Recv.IV, local: r.LocalIndex},
		created:   now,
		initiator: initiator,
		cipher:    r.Cipher,
		peer:      r.Hello.Incarnation,
	}
	c.cfg.Indexes.Publish(r.LocalIndex, e.recv)
	c.stats.Handshakes++
	return e
}

// meet notes the peer's incarnation, which it has just proven. When it is another
// one than before, all that the former left behind is cleared in one step, its
// keys included.
func (c *Conn) meet(now mono.Time, incarnation uint64) {
	s := &c.session
	// At a first meeting as well: a late packet under keys of another process must not
	// make that one the peer again.
	for _, e := range []**epoch{&s.next, &s.other} {
		if *e != nil && (*e).peer != incarnation {
			c.retire(e)
		}
	}
	if s.met && s.incarnation != incarnation {
		c.retire(&s.send)
		c.retire(&s.prev)
		c.forget(now)
	}
	s.met, s.incarnation = true, incarnation
}

// begin makes e the session that packets are sent under.
func (c *Conn) begin(now mono.Time, e *epoch) {
	s := &c.session
	c.retire(&s.prev)
	s.prev, s.send = s.send, e
	if s.prev != nil {
		s.prev.dies = now.Add(max(previousLife, 3*c.pto()))
	}
	e.proven = s.since == 0 // the first keys of all are shown by the challenges of paths
	s.since = now
	c.lastHeard = now
	c.timer.backoff = 0
}

// confirm takes the first packet under keys we made as responder as proof that
// the initiator has them too, and that it is where our response went, if that was
// one address alone (RFC 9000 section 8.1). The
// initiation alone proves neither: somebody may have recorded it. Were its
// incarnation believed at once, we would number messages anew and the real peer
// would take all of them for ones it has.
func (c *Conn) confirm(now mono.Time, p *Packet) {
	s := &c.session
	var e *epoch
	switch {
	case s.next != nil && s.next.recv == p.Keys:
		e, s.next = s.next, nil
		c.retire(&s.other)
	case s.other != nil && s.other.recv == p.Keys:
		// The newer one stays: our response to it may be on its way to the initiator.
		e, s.other = s.other, nil
	default:
		return
	}
	c.meet(now, e.peer)
	if c.keeps(e) {
		c.retire(&s.prev)
		s.prev, e.dies = e, now.Add(max(previousLife, 3*c.pto()))
	} else {
		c.begin(now, e)
	}
	s.calls.abandon()
	c.responded(now, p.Tuple, e.recv.local)
	c.openAll(now)
}

// keeps reports whether the session in use stays although e, made as responder, is
// confirmed. That is so where our initiation met that of e on the way: then both sides
// must keep the same one of the two, that of the smaller public key. And where ours
// went out long after we had answered that of e: then it is the newer one. What the
// peer still sends under the other keys is taken as under replaced ones.
func (c *Conn) keeps(e *epoch) bool {
	own, remote := c.cfg.Identity.Public(), c.cfg.Remote
	s := &c.session
	switch {
	case s.send == nil || !s.send.initiator:
		return false
	case s.send.called.Sub(e.created) >= deadAfter:
		return true
	case s.send.created >= e.created || e.crossed:
		return bytes.Compare(own[:], remote[:]) < 0
	}
	return false
}

// fresh reports whether there is a session of our making that the peer may not have
// known when it sent an initiation that arrives now. Packets overtake each other, so
// the answer to ours may have come first although the peer had not yet heard that we
// have it. Once it has, it drops its own attempt, and first uses our session. If it
// does not for so long that it might call again for that, the initiation is a new one.
func (s *session) fresh(now mono.Time) bool {
	return s.send != nil && s.send.initiator && !s.send.heard && now.Sub(s.send.created) < deadAfter
}

// used notes that the peer uses k. Replaced keys live on for as long as it does.
func (c *Conn) used(now mono.Time, k *RecvKeys) {
	s := &c.session
	if s.send != nil && s.send.recv == k {
		s.send.heard = true
	}
	if e := s.prev; e != nil && e.recv == k {
		e.dies = max(e.dies, now.Add(previousLife))
	}
}

// retire ends an epoch: its index is free and its keys are forgotten.
func (c *Conn) retire(e **epoch) {
	if *e != nil {
		c.cfg.Indexes.Release((*e).recv.local)
		*e = nil
	}
}

// closeSession drops the keys in use. What is in flight starts over when there is
// a session again; a handshake that waits for the initiator's first packet goes on.
func (c *Conn) closeSession(now mono.Time) {
	s := &c.session
	c.retire(&s.send)
	c.retire(&s.prev)
	if c.cfg.Keepalive > 0 {
		// We may be the only one who can reach the other.
		s.call = now.Add(min(c.cfg.Keepalive, retryMost))
	}
}

// stranger reports whether a handshake waits to be confirmed that may turn out to
// be with another incarnation of the peer. The packet numbers of that one are not
// those seen so far.
func (s *session) stranger() bool {
	for _, e := range []*epoch{s.next, s.other} {
		if e != nil && s.met && e.peer != s.incarnation {
			return true
		}
	}
	return false
}

// advanceSession expires and renews keys, and repeats handshakes.
func (c *Conn) advanceSession(now mono.Time) {
	s := &c.session
	if e := s.prev; e != nil && now >= e.dies {
		c.retire(&s.prev)
	}
	for _, e := range []**epoch{&s.next, &s.other} {
		if *e != nil && now.Sub((*e).created) >= s.life.reject {
			c.retire(e)
		}
	}
	if e := s.send; e != nil {
		c.renew(now, e)
	}
	if s.call != 0 && now >= s.call {
		s.call = 0
		c.Connect(now)
	}
	s.calls.expire(now)
	if to, ok := s.calls.hurries(now); ok {
		c.hurry(now, to)
	}
	if s.calls.busy() && now >= s.calls.regular.end {
		c.callAgain(now)
	}
	if c.usable != c.held.usable {
		c.holdAddresses()
	}
}

// callAgain makes the next attempt, or gives up; whoever is to keep alive does not. What
// waits to be sent is given up only if no session works: somebody who keeps the next from
// being made must not take anything from one that does.
func (c *Conn) callAgain(now mono.Time) {
	s := &c.session
	enough := giveUpAttempts
	if s.calls.greeting && c.out.empty() && c.cfg.Keepalive == 0 {
		enough = greetAttempts
	}
	if s.calls.tries >= enough {
		s.calls.abandon()
		if !s.ready(now) || now.Sub(c.lastHeard) > idleAfter {
			c.voidAll()
		}
		if c.cfg.Keepalive == 0 {
			return
		}
		s.calls.tries /= 2 // the longest wait between attempts stays
	}
	c.initiate(now)
}

// voidAll gives up every payload that waits. The numbers stay: the peer, if it
// comes back as the process it was, counts on from them.
func (c *Conn) voidAll() {
	for n := c.out.first; n < c.out.next; n++ {
		if m := c.out.at(n); !m.acked && !m.void {
			c.giveUp(m)
		}
	}
}

// renew expires e, or begins its replacement.
func (c *Conn) renew(now mono.Time, e *epoch) {
	age, life := now.Sub(e.created), &c.session.life
	if age >= life.reject {
		c.retire(&c.session.send)
		if !c.out.empty() || c.cfg.Keepalive > 0 {
			c.Connect(now)
		} else {
			c.rest(now)
		}
		return
	}
	after := life.renewResponse
	if e.initiator {
		after = life.renew
	}
	// Keys that have sealed as many packets as they may still open those of the peer.
	busy := c.cfg.Keepalive > 0 || now.Sub(max(c.active, c.lastHeard)) < idleAfter
	if busy && (age >= after || e.sent >= life.renewPackets) && !c.session.calls.busy() {
		c.call(now)
	}
}

// sessionDeadline returns when the session needs Advance, and why.
func (c *Conn) sessionDeadline() (mono.Time, string) {
	s := &c.session
	at, why := mono.Never, "nothing"
	if len(s.out) > 0 {
		return c.clock, "handshake packet"
	}
	if t := s.calls.deadline(); t < at {
		at, why = t, "handshake retry"
	}
	if s.call != 0 && s.call < at {
		at, why = s.call, "call again"
	}
	if s.prev != nil && s.prev.dies < at {
		at, why = s.prev.dies, "old keys expire"
	}
	for _, e := range []*epoch{s.send, s.next, s.other} {
		if e != nil && e.created.Add(s.life.reject) < at {
			at, why = e.created.Add(s.life.reject), "keys expire"
		}
	}
	return at, why
}

// Session describes the keys in use, for people.
type Session struct {
	Ready     bool
	Since     mono.Time // of the newest handshake
	Cipher    handshake.Cipher
	Initiator bool
}

// Session returns the state of the keys.
func (c *Conn) Session(now mono.Time) Session {
	s := &c.session
	v := Session{Ready: s.ready(now), Since: s.since}
	if s.send != nil {
		v.Cipher, v.Initiator = s.send.cipher, s.send.initiator
	}
	return v
}

// Close tells the peer on one path that the session ends and forgets the keys.
func (c *Conn) Close(now mono.Time, t *Train) bool {
	defer func() {
		c.retire(&c.session.send)
		c.retire(&c.session.prev)
		c.retire(&c.session.next)
		c.retire(&c.session.other)
		c.session.calls.abandon()
		c.dropAddresses()
		c.out.reset()
	}()
	return c.Farewell(now, t)
}

// Farewell tells the peer on one path that the session ends, as Close does, and forgets
// nothing: what is on its way here can still be opened. It reports whether there was a
// session to end.
func (c *Conn) Farewell(now mono.Time, t *Train) bool {
	p := c.ackPath()
	if p == nil || !c.session.ready(now) {
		return false
	}
	c.single(now, t, p, 0, 0, func(b []byte) []byte { return append(b, 5, 0) })
	return true
}
