package srd

import (
	"bytes"

	"github.com/srdtun/srdtun/srd/mono"
)

// begin makes e the session that packets are sent under.
func (s *session) begin(now mono.Time, e *epoch) {
	s.retire(&s.prev)
	s.prev, s.send = s.send, e
	if s.prev != nil {
		s.prev.dies = now.Add(max(previousLife, 3*s.recovery.pto()))
	}
	s.foreign = foreign{}
	e.proven = s.since == 0 // the first keys of all are shown by the challenges of paths
	s.since = now
	s.lastHeard = now
	s.recovery.timer.backoff = 0
}

// keeps reports whether the session in use stays although e, made as responder, is
// confirmed. That is so where our initiation met that of e on the way: then both sides
// must keep the same one of the two, that of the smaller public key. And where ours
// went out long after we had answered that of e: then it is the newer one. What the
// peer still sends under the other keys is taken as under replaced ones.
func (s *session) keeps(e *epoch) bool {
	own, remote := s.cfg.Identity.Public(), s.cfg.Remote
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

// closeSession drops the keys in use. What is in flight starts over when there is
// a session again; a handshake that waits for the initiator's first packet goes on.
func (s *session) closeSession(now mono.Time) {
	s.retire(&s.send)
	s.retire(&s.prev)
	if s.cfg.Keepalive > 0 {
		// We may be the only one who can reach the other.
		s.callAt = now.Add(min(s.cfg.Keepalive, retryMost))
	}
}

// expire ends keys whose time is over, and renews those that are used in time. It reports
// whether those in use have ended.
func (s *session) expire(now mono.Time) (ended bool) {
	if e := s.prev; e != nil && now >= e.dies {
		s.retire(&s.prev)
	}
	for _, e := range []**epoch{&s.next, &s.other} {
		if *e != nil && now.Sub((*e).created) >= s.life().reject {
			s.retire(e)
		}
	}
	e := s.send
	return e != nil && s.renew(now, e)
}

// calling reports, once, that a call was planned for now.
func (s *session) calling(now mono.Time) bool {
	if s.callAt == 0 || now < s.callAt {
		return false
	}
	s.callAt = 0
	return true
}

// repeat goes on with handshakes that are under way.
func (s *session) repeat(now mono.Time) {
	s.calls.expire(now)
	if to, ok := s.calls.hurries(now); ok {
		s.hurry(now, to)
	}
	if s.calls.busy() && now >= s.calls.regular.end {
		s.callAgain(now)
	}
	if s.paths.usable != s.held.usable {
		s.holdAddresses()
	}
}

// callAgain makes the next attempt, or gives up; whoever is to keep alive does not. What
// waits to be sent is given up only if no session works: somebody who keeps the next from
// being made must not take anything from one that does.
func (s *session) callAgain(now mono.Time) {
	enough := giveUpAttempts
	if s.calls.greeting && s.recovery.out.empty() && s.cfg.Keepalive == 0 {
		enough = greetAttempts
	}
	if s.calls.tries >= enough {
		s.calls.abandon()
		if !s.ready(now) || now.Sub(s.lastHeard) > idleAfter {
			s.recovery.voidAll()
		}
		if s.cfg.Keepalive == 0 {
			return
		}
		s.calls.tries /= 2 // the longest wait between attempts stays
	}
	s.initiate(now)
}

// renew begins the replacement of e, or ends it, and reports whether it did.
func (s *session) renew(now mono.Time, e *epoch) (ended bool) {
	age, life := now.Sub(e.created), s.life()
	if age >= life.reject {
		s.retire(&s.send)
		return true
	}
	after := life.renewResponse
	if e.initiator {
		after = life.renew
	}
	// Keys that have sealed as many packets as they may still open those of the peer.
	busy := s.cfg.Keepalive > 0 || now.Sub(max(s.active, s.lastHeard)) < idleAfter
	if busy && (age >= after || e.sent >= life.renewPackets) && !s.calls.busy() {
		s.call(now)
	}
	return false
}

// sessionDeadline returns when the session needs Advance, and why.
func (s *session) sessionDeadline() (mono.Time, string) {
	at, why := mono.Never, "nothing"
	if len(s.out) > 0 {
		return s.clock, "handshake packet"
	}
	if t := s.calls.deadline(); t < at {
		at, why = t, "handshake retry"
	}
	if s.callAt != 0 && s.callAt < at {
		at, why = s.callAt, "call again"
	}
	if s.prev != nil && s.prev.dies < at {
		at, why = s.prev.dies, "old keys expire"
	}
	for _, e := range []*epoch{s.send, s.next, s.other} {
		if e != nil && e.created.Add(s.life().reject) < at {
			at, why = e.created.Add(s.life().reject), "keys expire"
		}
	}
	return at, why
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
