package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// copyLimit is for all other copies of one initiation. Whoever sees an initiation can copy it
// from any number of addresses before it is there: answering the first few alone would
// keep a peer that nobody knows from its answer. One costs no cryptography, and is paid
// for by its address.
var copyLimit = limit{rate: 1000, burst: copyBurst}

const copyBurst = 64

// call makes the first attempt of a handshake. A peer that has lied is not called before
// its wait is over.
func (s *session) call(now mono.Time) {
	if s.liar.waits(now) {
		s.callAt = s.liar.until
		return
	}
	if now < s.foreign.until {
		s.shun(now)
		return
	}
	s.calls.tries, s.calls.greeting = 0, false
	s.initiate(now)
}

// doubt begins a handshake although there is a session: the peer is silent.
func (s *session) doubt(now mono.Time) {
	if !s.calls.busy() {
		s.call(now)
	}
}

// initiate sends a new initiation on several paths, in place of the one whose time is over.
func (s *session) initiate(now mono.Time) {
	v := &s.calls
	v.drop(&v.regular)
	if targets := s.targets(); len(targets) > 0 {
		if a, ok := s.attempt(now, targets, [16]byte{}, v.tries); ok {
			v.begin(a)
			s.holdAddresses()
		}
	}
}

// hurry sends the initiation that a cookie makes possible. A cookie is good on the path
// it came on only, and a copy on another path that got there first would be what the peer
// looks at.
func (s *session) hurry(now mono.Time, to Tuple) {
	if a, ok := s.attempt(now, []Tuple{to}, s.stamper.Token(now), s.calls.tries-1); ok {
		s.calls.follow(a)
	}
}

// attempt sends an initiation to targets, with the time of day if there is no token. The
// more there were before, the longer it is given. An attempt that may go nowhere has its time
// too, and the next one may go out.
func (s *session) attempt(now mono.Time, targets []Tuple, token [16]byte, before int) (attempt, bool) {
	s.stamps(s.cfg.Remote).Expire(now)
	local := s.self.reserve()
	h := handshake.Hello{Timestamp: s.cfg.Timestamp(now), Incarnation: s.cfg.Incarnation, Offers: s.cfg.Offers, Token: token, Protocol: s.cfg.Protocol, Features: s.cfg.Features}
	hs, msg, err := s.cfg.Identity.Initiate(s.cfg.Rand, s.cfg.Remote, s.cfg.PSK, local, h, s.stamper)
	if err != nil {
		// The peer's public key is not a point to agree with; the configuration
		// is wrong for good, and each attempt says so in the counter.
		s.self.release(local)
		s.drop(DropHandshakeBad)
		return attempt{}, false
	}
	var on []Tuple
	for _, t := range targets {
		if s.paths.affords(now, t.Remote.Addr(), len(msg)) {
			s.out, on = append(s.out, rawPacket{t, msg}), append(on, t)
		}
	}
	wait := min(retryFirst<<min(before, 8), retryMost)
	end := now.Add(wait + time.Duration(s.rng.Int64N(int64(wait/4))))
	return attempt{hs: hs, index: local, on: on, begun: now, end: end}, true
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
func (s *session) targets() []Tuple {
	var v []Tuple
	add := func(t Tuple) {
		for _, u := range v {
			if u == t {
				return
			}
		}
		v = append(v, t)
	}
	if n := len(s.paths.table); n > 0 {
		for i := range n {
			if p := s.paths.table[(s.calls.turn+i)%n]; p.state != PathFree && p.state != PathCandidate && len(v) < hellos/2 {
				add(p.tuple)
			}
		}
	}
	for i := range s.paths.tuples {
		if len(v) < hellos {
			add(s.paths.tuples[(s.calls.turn+i)%len(s.paths.tuples)])
		}
	}
	s.calls.turn += hellos
	return v
}

// handleCookie takes a cookie reply: to one of our attempts, or to our response to the
// peer's. It comes without proof of who sent it, so the cookie is kept, if it comes from
// where we have sent what it answers, and nothing else changes: an attempt lives on, with
// at most one more beside it, and a response goes out again where it was sent already.
func (s *session) handleCookie(now mono.Time, from Tuple, msg []byte) {
	index, _ := handshake.ReceiverIndex(msg)
	a, answer := s.calls.find(index), s.last.answers(index, from)
	if (a == nil || !a.called(from)) && !answer {
		s.drop(DropCookieStray)
		return
	}
	if s.stamper.ConsumeCookie(now, msg) != nil {
		s.drop(DropHandshakeBad)
		return
	}
	if a != nil {
		s.calls.plan(now, index, from)
	} else {
		s.answerAgain(now, from, len(msg))
	}
}

// answerAgain sends our newest response once more, now with the cookie that came in n bytes.
func (s *session) answerAgain(now mono.Time, to Tuple, n int) {
	if s.last.again == 0 {
		s.drop(DropHandshakeCopy)
		return
	}
	s.last.again--
	s.sendBack(now, to, n, s.stamper.Restamp(s.last.b))
}

// handleInitiation answers an initiation that the endpoint has decrypted.
// tokenOK says that it carries a valid fresh token. stale is returned when it is
// not newer than what was seen: then a cookie may help the peer.
func (s *session) handleInitiation(now mono.Time, from Tuple, in *handshake.Incoming, msg []byte, tokenOK bool) (stale bool) {
	if s.liar.waits(now) {
		s.drop(DropLiar)
		return false
	}
	if !s.replay.Accept(in.Hello, tokenOK) {
		s.drop(DropHandshakeReplay)
		return true
	}
	local := s.self.reserve()
	in.Protocol = s.cfg.Protocol
	in.Features = s.cfg.Features
	r, answer, err := in.Respond(s.cfg.Rand, s.cfg.PSK, local, s.cfg.Incarnation, s.cfg.Offers, handshake.Choose, s.stamps(s.cfg.Remote))
	if err != nil {
		s.self.release(local)
		s.drop(DropHandshakeBad)
		return false
	}
	if in.Hello.Protocol != s.cfg.Protocol {
		// The response tells the peer why there will be no session.
		s.self.release(local)
		s.drop(DropProtocol)
		s.last = response{mac: handshake.MAC1(msg), index: local, b: answer, left: echoes, again: echoes}
		s.respond(now, from, len(msg))
		return false
	}
	if e := s.newEpoch(now, &r, false); e != nil {
		// The initiator may have taken our response to the one before, with this one
		// on its way already.
		s.retire(&s.other)
		s.other, s.next, e.crossed = s.next, e, s.fresh(now)
		s.last = response{mac: handshake.MAC1(msg), index: local, b: answer, left: echoes, again: echoes}
		s.respond(now, from, len(msg))
	}
	return false
}

// handleCopy answers a copy of the newest initiation, which came on another
// path, with the same response. It reports whether it was one.
func (s *session) handleCopy(from Tuple, msg []byte) bool {
	l := &s.last
	if l.b == nil || l.mac != handshake.MAC1(msg) {
		return false
	}
	switch known := s.paths.listed(from) || s.paths.trusts(from.Remote.Addr()); {
	case known && l.left > 0:
		l.left--
	case !l.copies.take(s.clock, copyLimit):
		s.drop(DropHandshakeCopy)
		return true
	}
	s.respond(s.clock, from, len(msg))
	return true
}

// nextHandshake sends the first handshake packet that waits.
func (s *session) nextHandshake(t *Train) bool {
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
	s.stats.TxBytes += uint64(len(r.b))
	return true
}

// mostRaw bounds the handshake packets that wait to be sent: between two calls of
// Next, an initiation on hellos paths and answers to one and all its copies.
const mostRaw = 2*hellos + echoes + copyBurst + 1

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

// fresh reports whether there is a session of our making that the peer may not have
// known when it sent an initiation that arrives now. Packets overtake each other, so
// the answer to ours may have come first although the peer had not yet heard that we
// have it. Once it has, it drops its own attempt, and first uses our session. If it
// does not for so long that it might call again for that, the initiation is a new one.
func (s *session) fresh(now mono.Time) bool {
	return s.send != nil && s.send.initiator && !s.send.heard && now.Sub(s.send.created) < deadAfter
}

// holdAddresses notes where the peer is now: where paths of it have worked, and where we
// may call it.
func (s *session) holdAddresses() {
	h := &s.held
	h.usable = s.paths.usable
	if s.cfg.Addresses == nil {
		return
	}
	before := h.addrs
	h.addrs = nil
	for _, p := range s.paths.table {
		if p.state != PathFree && p.validated {
			h.add(p.tuple.Remote.Addr())
		}
	}
	for i := range s.paths.tuples {
		h.add(s.paths.tuples[i].Remote.Addr())
	}
	for _, a := range h.addrs {
		s.cfg.Addresses.Hold(a)
	}
	for _, a := range before {
		s.cfg.Addresses.Release(a)
	}
}

// dropAddresses ends the holding.
func (s *session) dropAddresses() {
	for _, a := range s.held.addrs {
		s.cfg.Addresses.Release(a)
	}
	s.held = holding{usable: s.paths.usable}
}
