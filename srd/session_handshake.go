package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// copyLimit limits the responses to copies of one initiation from other addresses. An observer
// who sees an initiation can send copies of it from many addresses, and they may arrive before
// the original. If only the first few copies got a response, a peer at an unknown address might
// get none. A response to a copy costs no cryptography, and is charged to the credit of the
// copy's source address (docs/transport.md, U5).
var copyLimit = limit{rate: 1000, burst: copyBurst}

const copyBurst = 64

// call makes the first attempt of a handshake. If the peer has recently lied or uses another
// protocol, call() begins no handshake until the wait for that peer is over (liar, foreign).
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

// doubt begins a handshake although a session exists, because the peer is silent.
func (s *session) doubt(now mono.Time) {
	if !s.calls.busy() {
		s.call(now)
	}
}

// initiate sends a new initiation on several paths. The new attempt replaces the attempt
// that has timed out.
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

// hurry sends an initiation with a new cookie to a single tuple. A cookie is valid only on the
// path on which it was received. If copies were sent on other paths, such a copy, without a
// valid cookie, might arrive first, and the peer would examine that copy.
func (s *session) hurry(now mono.Time, to Tuple) {
	if a, ok := s.attempt(now, []Tuple{to}, s.stamper.Token(now), s.calls.tries-1); ok {
		s.calls.follow(a)
	}
}

// attempt sends an initiation to the tuples in `targets`. Without a token the initiation
// contains the time of day. The argument `before` is the number of earlier attempts, and the
// wait for a response doubles with each of them. The wait is the same even if Config.Afford
// refused all packets of the attempt.
func (s *session) attempt(now mono.Time, targets []Tuple, token [16]byte, before int) (attempt, bool) {
	s.stamps(s.cfg.Remote).Expire(now)
	local := s.self.reserve()
	h := handshake.Hello{Timestamp: s.cfg.Timestamp(now), Incarnation: s.cfg.Incarnation, Offers: s.cfg.Offers, Token: token, Protocol: s.cfg.Protocol, Features: s.cfg.Features}
	hs, msg, err := s.cfg.Identity.Initiate(s.cfg.Rand, s.cfg.Remote, s.cfg.PSK, local, h, s.stamper)
	if err != nil {
		// The peer's public key is not a valid point. No attempt can succeed with this
		// configuration, and the counter shows each attempt.
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

// stamps returns the Stamper for handshake packets to the peer.
func (s *session) stamps(remote handshake.PublicKey) *handshake.Stamper {
	if s.stamper == nil {
		s.stamper = handshake.NewStamper(remote)
	}
	return s.stamper
}

// targets returns the tuples for the next initiation. At most half of them are tuples of
// validated paths. The others are the configured tuples in turn.
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

// handleCookie handles a cookie reply to one of our attempts, or to our response. A cookie
// reply does not authenticate its sender. So it must come from a tuple to which the attempt or
// response was sent, and apart from the stored cookie it has little effect. After a cookie for
// an attempt, the attempt continues, with at most one hurried attempt in addition. After a
// cookie for a response, the response is sent once more, to the same tuple.
func (s *session) handleCookie(now mono.Time, from Tuple, msg []byte) {
	index, _ := handshake.ReceiverIndex(msg)
	a, answer := s.calls.find(index), s.last.answers(index, from)
	if (a == nil || !a.called(from)) && !answer {
		s.drop(DropCookieUnsolicited)
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

// answerAgain sends our newest response once more, with the cookie. The argument n is the size
// of the cookie reply in bytes.
func (s *session) answerAgain(now mono.Time, to Tuple, n int) {
	if s.last.again == 0 {
		s.drop(DropHandshakeCopy)
		return
	}
	s.last.again--
	s.reply(now, to, n, s.stamper.Restamp(s.last.b))
}

// handleInitiation responds to an initiation that the endpoint has decrypted. If tokenOK is
// true, the initiation has a valid, fresh token. If the initiation is not newer than earlier
// ones, the result `stale` is true, and the caller may send a cookie to its sender.
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
		s.drop(DropCipher)
		return false
	}
	if in.Hello.Protocol != s.cfg.Protocol {
		// The response contains our protocol, so the peer gets the reason for the
		// refusal.
		s.self.release(local)
		s.drop(DropProtocol)
		s.last = response{mac: handshake.MAC1(msg), index: local, b: answer, left: echoes, again: echoes}
		s.respond(now, from, len(msg))
		return false
	}
	if e := s.newEpoch(now, &r, false); e != nil {
		// The initiator may have accepted our response to its previous initiation while
		// this initiation was in flight. So the previous keys are kept too.
		s.retire(&s.other)
		s.other, s.next, e.crossed = s.next, e, s.fresh(now)
		s.last = response{mac: handshake.MAC1(msg), index: local, b: answer, left: echoes, again: echoes}
		s.respond(now, from, len(msg))
	}
	return false
}

// handleCopy responds to a copy of the newest initiation, on the path of the copy, with the
// same response. The result is true if msg is such a copy.
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

// nextHandshake sends the first packet of the handshake queue.
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

// mostRaw bounds the handshake queue. It has room for initiations on hellos paths, and for the
// responses to one initiation and all its copies.
const mostRaw = 2*hellos + echoes + copyBurst + 1

// respond sends our response to the source of an initiation of n bytes. These n bytes add to
// the credit to which the response is charged (docs/transport.md, U5).
func (s *session) respond(now mono.Time, to Tuple, n int) {
	l := &s.last
	switch {
	case !s.reply(now, to, n, l.b):
	case len(l.on) <= echoes:
		l.on = append(l.on, to)
	default:
		l.more = true
	}
}

// reply queues handshake packet b for the source of a packet of n bytes. If the queue is full,
// or the credit of the address is not enough for b, reply() returns false.
func (s *session) reply(now mono.Time, to Tuple, n int, b []byte) bool {
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

// fresh reports whether the peer may have sent an arriving initiation before it received a
// packet under the keys of our newest session. The result is true only if this end began that
// session and the peer has not used it yet: the peer's response may have overtaken its own
// earlier initiation. After the first packet under the new keys, the peer drops its own attempt
// and uses our session. If the peer has not used our session within deadAfter, fresh() returns
// false, because the initiation may begin a new handshake.
func (s *session) fresh(now mono.Time) bool {
	return s.send != nil && s.send.initiator && !s.send.heard && now.Sub(s.send.created) < deadAfter
}

// holdAddresses reserves handshake time for the addresses of validated paths and the
// configured addresses of the peer.
func (s *session) holdAddresses() {
	h := &s.reserved
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

// dropAddresses releases all reserved addresses.
func (s *session) dropAddresses() {
	for _, a := range s.reserved.addrs {
		s.cfg.Addresses.Release(a)
	}
	s.reserved = holding{usable: s.paths.usable}
}
