package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// Timing of handshakes.
const (
	retryFirst = 250 * time.Millisecond // doubles, with jitter
	retryMost  = 5 * time.Second
	// giveUpAfter so many attempts, over about 90 s, what waits is dropped.
	giveUpAttempts = 22
	// greetAttempts is when a greeting is given up, some 2 s after the first: a
	// peer that is there has answered, and one that comes later greets us.
	greetAttempts = 3
	// hellos is the number of paths an initiation is sent on at once: a dead
	// first path must not stop the tunnel.
	hellos = 8
	// echoes is how many copies of one initiation are answered, each on the path
	// it came on, that come from where the peer is known to be.
	echoes = 8
)

// copyLimit is for all other copies of one initiation. Whoever sees an initiation can copy it
// from any number of addresses before it is there: answering the first few alone would
// keep a peer that nobody knows from its answer. One costs no cryptography, and is paid
// for by its address.
var copyLimit = limit{rate: 1000, burst: copyBurst}

const copyBurst = 64

// Connect says that there is something to send. It begins a handshake unless
// there is a session or an attempt already.
func (c *Conn) Connect(now mono.Time) {
	switch {
	case c.session.ready(now):
		c.seek(now)
	case !c.session.calls.busy():
		c.call(now)
	default:
		c.session.calls.greeting = false
	}
}

// Greet begins a handshake, if none is under way, although there is nothing to
// send: so that the first message need not wait for one, and a peer that knew a
// former process of ours meets the new one. It is not pursued for long. With many
// peers that are not there, that would be a load without a use.
func (c *Conn) Greet(now mono.Time) {
	if !c.session.ready(now) && !c.session.calls.busy() {
		c.call(now)
		c.session.calls.greeting = true
	}
}

// call makes the first attempt of a handshake. A peer that has lied is not called before
// its wait is over.
func (c *Conn) call(now mono.Time) {
	s := &c.session
	if s.liar.waits(now) {
		s.call = s.liar.until
		return
	}
	s.calls.tries, s.calls.greeting = 0, false
	c.initiate(now)
}

// seek keeps looking for a path when there is a session and none works. Nothing
// is in flight then whose timeout could notice that the peer has lost its keys.
func (c *Conn) seek(now mono.Time) {
	if !c.usable.Empty() {
		return
	}
	c.active = now
	if c.dormant {
		c.wake(now)
	}
	if now.Sub(max(c.lastHeard, c.session.since)) > deadAfter {
		c.doubt(now)
	}
}

// doubt begins a handshake although there is a session: the peer is silent.
func (c *Conn) doubt(now mono.Time) {
	if !c.session.calls.busy() {
		c.call(now)
	}
}

// initiate sends a new initiation on several paths, in place of the one whose time is over.
func (c *Conn) initiate(now mono.Time) {
	v := &c.session.calls
	v.drop(&v.regular)
	if targets := c.targets(); len(targets) > 0 {
		if a, ok := c.attempt(now, targets, [16]byte{}, v.tries); ok {
			v.begin(a)
			c.holdAddresses()
		}
	}
}

// hurry sends the initiation that a cookie makes possible. A cookie is good on the path
// it came on only, and a copy on another path that got there first would be what the peer
// looks at.
func (c *Conn) hurry(now mono.Time, to Tuple) {
	s := &c.session
	if a, ok := c.attempt(now, []Tuple{to}, s.stamper.Token(now), s.calls.tries-1); ok {
		s.calls.follow(a)
	}
}

// attempt sends an initiation to targets, with the time of day if there is no token. The
// more there were before, the longer it is given.
func (c *Conn) attempt(now mono.Time, targets []Tuple, token [16]byte, before int) (attempt, bool) {
	s := &c.session
	s.stamps(c.cfg.Remote).Expire(now)
	local := c.cfg.Indexes.Reserve(c)
	h := handshake.Hello{Timestamp: c.cfg.Timestamp(now), Incarnation: c.cfg.Incarnation, Offers: c.cfg.Offers, Token: token}
	hs, msg, err := c.cfg.Identity.Initiate(c.cfg.Rand, c.cfg.Remote, c.cfg.PSK, local, h, s.stamper)
	if err != nil {
		// The peer's public key is not a point to agree with; the configuration
		// is wrong for good, and each attempt says so in the counter.
		c.cfg.Indexes.Release(local)
		c.drop(DropHandshakeBad)
		return attempt{}, false
	}
	for _, t := range targets {
		s.out = append(s.out, rawPacket{t, msg})
	}
	wait := min(retryFirst<<min(before, 8), retryMost)
	end := now.Add(wait + time.Duration(c.rng.Int64N(int64(wait/4))))
	return attempt{hs: hs, index: local, on: targets, begun: now, end: end}, true
}

// stamps returns what stamps the packets to the peer.
func (s *session) stamps(remote handshake.PublicKey) *handshake.Stamper {
	if s.stamper == nil {
		s.stamper = handshake.NewStamper(remote)
	}
	return s.stamper
}

// targets returns the tuples the next initiation goes out on: paths that work
// first, then the configured ones in turn.
func (c *Conn) targets() []Tuple {
	var v []Tuple
	add := func(t Tuple) {
		for _, u := range v {
			if u == t {
				return
			}
		}
		v = append(v, t)
	}
	if n := len(c.paths); n > 0 {
		for i := range n {
			if p := c.paths[(c.session.calls.turn+i)%n]; p.state != PathFree && p.state != PathCandidate && len(v) < hellos/2 {
				add(p.tuple)
			}
		}
	}
	for i := range c.tuples {
		if len(v) < hellos {
			add(c.tuples[(c.session.calls.turn+i)%len(c.tuples)])
		}
	}
	c.session.calls.turn += hellos
	return v
}

// HandleResponse takes the response to one of our attempts, which is consumed: a second
// response to it finds nothing. One that does not open leaves all as it was.
func (c *Conn) HandleResponse(now mono.Time, from Tuple, msg []byte) {
	s := &c.session
	index, _ := handshake.ReceiverIndex(msg)
	a := s.calls.find(index)
	if a == nil {
		c.drop(DropHandshakeCopy)
		return
	}
	r, err := a.hs.Consume(msg)
	if err != nil {
		c.drop(DropHandshakeBad)
		return
	}
	begun, sole := a.begun, soleAddr(a.on)
	s.calls.answered(a)
	e := c.newEpoch(now, &r, true)
	if e == nil {
		return
	}
	e.called = begun
	if took := now.Sub(begun); took > firstRTT && !c.rtt.Known() {
		c.rtt.Add(now, took) // what is assumed else is too short (RFC 9002 section 5.2)
	}
	c.meet(now, r.Hello.Incarnation)
	c.begin(now, e)
	c.openAll(now)
	c.calledBack(now, from, len(msg), sole)
}

// HandleCookie takes a cookie reply: to one of our attempts, or to our response to the
// peer's. It comes without proof of who sent it, so the cookie is kept, if it comes from
// where we have sent what it answers, and nothing else changes: an attempt lives on, with
// at most one more beside it, and a response goes out again where it was sent already.
func (c *Conn) HandleCookie(now mono.Time, from Tuple, msg []byte) {
	s := &c.session
	index, _ := handshake.ReceiverIndex(msg)
	a, answer := s.calls.find(index), s.last.answers(index, from)
	if (a == nil || !a.called(from)) && !answer {
		c.drop(DropCookieStray)
		return
	}
	if s.stamper.ConsumeCookie(now, msg) != nil {
		c.drop(DropHandshakeBad)
		return
	}
	if a != nil {
		s.calls.plan(now, index, from)
	} else {
		c.answerAgain(now, from, len(msg))
	}
}

// answerAgain sends our newest response once more, now with the cookie that came in n bytes.
func (c *Conn) answerAgain(now mono.Time, to Tuple, n int) {
	s := &c.session
	if s.last.again == 0 {
		c.drop(DropHandshakeCopy)
		return
	}
	s.last.again--
	c.sendBack(now, to, n, s.stamper.Restamp(s.last.b))
}

// HandleInitiation answers an initiation that the endpoint has decrypted.
// tokenOK says that it carries a valid fresh token. stale is returned when it is
// not newer than what was seen: then a cookie may help the peer.
func (c *Conn) HandleInitiation(now mono.Time, from Tuple, in *handshake.Incoming, msg []byte, tokenOK bool) (stale bool) {
	s := &c.session
	if s.liar.waits(now) {
		c.drop(DropLiar)
		return false
	}
	if !s.replay.Accept(in.Hello, tokenOK) {
		c.drop(DropHandshakeReplay)
		return true
	}
	local := c.cfg.Indexes.Reserve(c)
	r, answer, err := in.Respond(c.cfg.Rand, c.cfg.PSK, local, c.cfg.Incarnation, c.cfg.Offers, handshake.Choose, s.stamps(c.cfg.Remote))
	if err != nil {
		c.cfg.Indexes.Release(local)
		c.drop(DropHandshakeBad)
		return false
	}
	if e := c.newEpoch(now, &r, false); e != nil {
		// The initiator may have taken our response to the one before, with this one
		// on its way already.
		c.retire(&s.other)
		s.other, s.next, e.crossed = s.next, e, s.fresh(now)
		s.last = response{mac: mac1(msg), index: local, b: answer, left: echoes, again: echoes}
		c.respond(now, from, len(msg))
	}
	return false
}

// HandleCopy answers a copy of the newest initiation, which came on another
// path, with the same response. It reports whether it was one.
func (c *Conn) HandleCopy(from Tuple, msg []byte) bool {
	l := &c.session.last
	if l.b == nil || l.mac != mac1(msg) {
		return false
	}
	switch known := c.listed(from) || c.trusts(from.Remote.Addr()); {
	case known && l.left > 0:
		l.left--
	case !l.copies.take(c.clock, copyLimit):
		c.drop(DropHandshakeCopy)
		return true
	}
	c.respond(c.clock, from, len(msg))
	return true
}

// nextProof sends an acknowledgement under keys that an attempt of ours made: the peer
// uses them only once it knows that we have them, and would begin a session of its own
// in time. There may be nothing else to send, or only to where nobody is. The keys before
// may have expired while the handshake was under way.
func (c *Conn) nextProof(now mono.Time, t *Train) bool {
	e := c.session.send
	if !e.initiator || e.proven || e.heard {
		return false
	}
	p := c.ackPath()
	if p == nil || p.sent.Full() {
		return false
	}
	e.proven = true
	words := c.inbox.Words(c.ackParts().words[:])
	c.single(now, t, p, ledger.Silent, 0, func(b []byte) []byte { return c.appendAck(now, b, p, words) })
	return true
}

// nextHandshake sends the first handshake packet that waits.
func (c *Conn) nextHandshake(now mono.Time, t *Train) bool {
	s := &c.session
	if len(s.out) == 0 {
		return false
	}
	r := s.out[0]
	if s.out = s.out[1:]; len(s.out) == 0 {
		s.out = nil
	}
	t.reset(r.tuple, nil)
	t.Buf = append(t.Buf, r.b...)
	t.Size = len(r.b)
	c.stats.TxBytes += uint64(len(r.b))
	return true
}
