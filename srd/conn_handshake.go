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
	// it came on.
	echoes = 8
)

// Connect says that there is something to send. It begins a handshake unless
// there is a session or an attempt already.
func (c *Conn) Connect(now mono.Time) {
	switch {
	case c.session.ready(now):
		c.seek(now)
	case c.session.attempt == nil:
		c.call(now)
	default:
		c.session.greeting = false
	}
}

// Greet begins a handshake, if none is under way, although there is nothing to
// send: so that the first message need not wait for one, and a peer that knew a
// former process of ours meets the new one. It is not pursued for long. With many
// peers that are not there, that would be a load without a use.
func (c *Conn) Greet(now mono.Time) {
	if !c.session.ready(now) && c.session.attempt == nil {
		c.call(now)
		c.session.greeting = true
	}
}

// call makes the first attempt of a handshake.
func (c *Conn) call(now mono.Time) {
	c.session.tries, c.session.greeting = 0, false
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
	if c.session.attempt == nil {
		c.call(now)
	}
}

// initiate sends a new initiation on several paths.
func (c *Conn) initiate(now mono.Time) {
	s := &c.session
	c.abandon()
	targets := c.targets()
	if len(targets) == 0 {
		return
	}
	if s.stamper == nil {
		s.stamper = handshake.NewStamper(c.cfg.Remote)
	}
	s.stamper.Expire(now)
	s.local = c.cfg.Indexes.Reserve(c)
	h := handshake.Hello{Timestamp: c.cfg.Timestamp(now), Incarnation: c.cfg.Incarnation, Offers: c.cfg.Offers}
	if s.cookie != nil {
		// A cookie is good on the path it came on only, and a copy on another
		// path that got there first would be what the peer looks at. It is used
		// once: should it fail, the next attempt goes out everywhere again.
		h.Token, targets = s.stamper.Token(now), []Tuple{*s.cookie}
		s.cookie = nil
	}
	attempt, msg, err := c.cfg.Identity.Initiate(c.cfg.Rand, c.cfg.Remote, c.cfg.PSK, s.local, h, s.stamper)
	if err != nil {
		// The peer's public key is not a point to agree with; the configuration
		// is wrong for good, and each attempt says so in the counter.
		c.cfg.Indexes.Release(s.local)
		c.drop(DropHandshakeBad)
		return
	}
	s.attempt, s.called = attempt, now
	for _, t := range targets {
		s.out = append(s.out, rawPacket{t, msg})
	}
	wait := min(retryFirst<<min(s.tries, 8), retryMost)
	s.retry = now.Add(wait + time.Duration(c.rng.Int64N(int64(wait/4))))
	s.tries++
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
			if p := c.paths[(c.session.turn+i)%n]; p.state != PathFree && p.state != PathCandidate && len(v) < hellos/2 {
				add(p.tuple)
			}
		}
	}
	for i := range c.tuples {
		if len(v) < hellos {
			add(c.tuples[(c.session.turn+i)%len(c.tuples)])
		}
	}
	c.session.turn += hellos
	return v
}

// abandon forgets the attempt that is under way.
func (c *Conn) abandon() {
	s := &c.session
	if s.attempt != nil {
		c.cfg.Indexes.Release(s.local)
	}
	s.attempt, s.retry = nil, 0
}

// HandleResponse takes the response to our initiation. The attempt is consumed:
// a second response to it finds nothing.
func (c *Conn) HandleResponse(now mono.Time, from Tuple, msg []byte) {
	s := &c.session
	if s.attempt == nil {
		c.drop(DropHandshakeCopy)
		return
	}
	r, err := s.attempt.Consume(msg)
	if err != nil {
		c.drop(DropHandshakeBad)
		return
	}
	e := c.newEpoch(now, &r, true)
	if e == nil {
		return
	}
	e.called = s.called
	s.attempt, s.retry, s.tries = nil, 0, 0
	c.meet(now, r.Hello.Incarnation)
	c.begin(now, e)
	// The response shows that from works, if it is where we called. From
	// elsewhere anybody may have passed it on, so that is a candidate.
	if p := c.pathOn(now, from); p != nil && p.state != PathActive && (p.state != PathCandidate || c.listed(from)) {
		c.activate(now, p)
	}
	c.openAll(now)
}

// HandleCookie takes a cookie reply.
func (c *Conn) HandleCookie(now mono.Time, from Tuple, msg []byte) {
	s := &c.session
	if s.attempt == nil || s.stamper == nil || s.stamper.ConsumeCookie(now, msg) != nil {
		c.drop(DropHandshakeBad)
		return
	}
	// Try again soon, now with the cookie.
	s.cookie = &from
	s.retry = s.retry.Min(now.Add(retryFirst / 10))
}

// HandleInitiation answers an initiation that the endpoint has decrypted.
// tokenOK says that it carries a valid fresh token. stale is returned when it is
// not newer than what was seen: then a cookie may help the peer.
func (c *Conn) HandleInitiation(now mono.Time, from Tuple, in *handshake.Incoming, msg []byte, tokenOK bool) (stale bool) {
	s := &c.session
	if !s.replay.Accept(in.Hello, tokenOK) {
		c.drop(DropHandshakeReplay)
		return true
	}
	local := c.cfg.Indexes.Reserve(c)
	r, answer, err := in.Respond(c.cfg.Rand, c.cfg.PSK, local, c.cfg.Incarnation, c.cfg.Offers, handshake.Choose, s.stamper)
	if err != nil {
		c.cfg.Indexes.Release(local)
		c.drop(DropHandshakeBad)
		return false
	}
	if e := c.newEpoch(now, &r, false); e != nil {
		c.retire(&s.next)
		s.next, e.crossed = e, s.fresh(now)
		s.out = append(s.out, rawPacket{from, answer})
		s.last = response{mac: mac1(msg), b: answer, left: echoes, on: []Tuple{from}}
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
	if l.left == 0 {
		c.drop(DropHandshakeCopy)
		return true
	}
	l.left--
	l.on = append(l.on, from)
	c.session.out = append(c.session.out, rawPacket{from, l.b})
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
	words := c.inbox.Words(c.words[:])
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
