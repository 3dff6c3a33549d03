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
	switch {
	case s.send == nil || !s.send.initiator:
		return false
	case s.send.called.Sub(e.created) >= deadAfter:
		return true
	case s.send.created >= e.created || e.crossed:
		return s.first()
	}
	return false
}

// first reports whether it is our session that stays when both ends call.
func (s *session) first() bool {
	own, remote := s.cfg.Identity.Public(), s.cfg.Remote
	return bytes.Compare(own[:], remote[:]) < 0
}

// concede takes the peer's session into use, whose keys k it has just used, where ours only
// looked newer: a peer that was stopped may have begun it after it had our next initiation. It
// has known ours for long, and would use it if it were that for it too.
func (s *session) concede(now mono.Time, k *RecvKeys) {
	e := s.prev
	if e == nil || e.recv != k || !e.crossed || s.send == nil || s.send.heard || now.Sub(s.send.created) < deadAfter || s.first() {
		return
	}
	s.prev, e.dies = nil, 0
	s.begin(now, e)
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
