package srd

import (
	"bytes"

	"github.com/srdtun/srdtun/srd/mono"
)

// begin takes the keys of e into use for sending.
func (s *session) begin(now mono.Time, e *epoch) {
	s.retire(&s.prev)
	s.prev, s.send = s.send, e
	if s.prev != nil {
		s.prev.dies = now.Add(max(previousLife, 3*s.recovery.pto()))
	}
	s.foreign = foreign{}
	e.proven = s.since == 0 // for the very first keys no proof is needed, because path challenges are sent under them
	s.since = now
	s.lastHeard = now
	s.recovery.timer.backoff = 0
}

// keeps reports whether the session in use stays, although the peer has confirmed e, an
// epoch that this end made as responder. If our initiation crossed the peer's in the
// network, both ends must keep the same session: the one that the end with the smaller
// public key began. If our initiation was sent long after this end had made e, our session
// is newer and stays. The peer's packets under e are then accepted like packets under
// replaced keys.
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

// first reports whether our session stays when both ends begin a handshake, because our
// public key is smaller.
func (s *session) first() bool {
	own, remote := s.cfg.Identity.Public(), s.cfg.Remote
	return bytes.Compare(own[:], remote[:]) < 0
}

// concede replaces our session with one that the peer began, if the peer has just used the
// keys k of the latter. Our session seemed newer. But a peer that was stopped may have
// begun its session after it had received our later initiation. The peer has had the keys
// of our session for deadAfter, and would use them if our session were newer at its end,
// too.
func (s *session) concede(now mono.Time, k *RecvKeys) {
	e := s.prev
	if e == nil || e.recv != k || !e.crossed || s.send == nil || s.send.heard || now.Sub(s.send.created) < deadAfter || s.first() {
		return
	}
	s.prev, e.dies = nil, 0
	s.begin(now, e)
}

// closeSession deletes the keys in use. Messages in flight are sent again in the next
// session. A handshake that waits for the initiator's first packet continues.
func (s *session) closeSession(now mono.Time) {
	s.retire(&s.send)
	s.retire(&s.prev)
	if s.cfg.Keepalive > 0 {
		// Perhaps only this end can reach the other.
		s.callAt = now.Add(min(s.cfg.Keepalive, retryMost))
	}
}

// expire deletes keys that are too old, and begins a handshake before the keys in use are
// too old. The result is true if the keys in use were deleted.
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

// calling reports whether a planned handshake is due. It reports each planned handshake
// once.
func (s *session) calling(now mono.Time) bool {
	if s.callAt == 0 || now < s.callAt {
		return false
	}
	s.callAt = 0
	return true
}

// repeat sends the next attempts of unfinished handshakes that are due.
func (s *session) repeat(now mono.Time) {
	s.calls.expire(now)
	if to, ok := s.calls.hurries(now); ok {
		s.hurry(now, to)
	}
	if s.calls.busy() && now >= s.calls.regular.end {
		s.callAgain(now)
	}
	if s.paths.usable != s.reserved.usable {
		s.holdAddresses()
	}
}

// callAgain makes the next attempt, or gives up the handshake. With a keepalive the
// attempts never end. Waiting payloads are given up only if no session works: an attacker
// who prevents the next session must not harm a working session.
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
		s.calls.tries /= 2 // keeps the longest wait between attempts
	}
	s.initiate(now)
}

// renew deletes the keys of e if they are too old, or begins a handshake if a renewal is
// due. The result is true if the keys were deleted.
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
	// Keys that have reached their packet limit seal no more packets, but they still open the
	// peer's.
	busy := s.cfg.Keepalive > 0 || now.Sub(max(s.active, s.lastHeard)) < idleAfter
	if busy && (age >= after || e.sent >= life.renewPackets) && !s.calls.busy() {
		s.call(now)
	}
	return false
}

// sessionDeadline returns the time at which the session needs the next call of Advance, and
// the reason.
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
