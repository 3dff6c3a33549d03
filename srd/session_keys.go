package srd

import (
	"bytes"
	"cmp"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Life of keys (docs/design.md, "Sessions").
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

// session is the key state of a connection, and its handshakes.
type session struct {
	*env
	paths    *paths
	recovery *recovery
	conn     *Conn

	held holding // addresses that the peer has a share reserved for
	life keyLife
	send *epoch // what packets are sealed with; nil: no session
	prev *epoch // replaced, still opens
	next *epoch // ours as responder, not used before the initiator has
	// other was made before next, and the initiator has not used it either.
	other *epoch

	calls   calls
	callAt  mono.Time // when to call again though there is nothing to send; 0: not planned
	stamper *handshake.Stamper
	replay  handshake.Replay
	out     []rawPacket
	last    response
	liar    liar
	foreign foreign

	incarnation uint64 // the peer's
	met         bool   // incarnation is known
	since       mono.Time
	over        bool // another process has the keys: there are never any here again
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
	features  uint8  // the peer's
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
func (s *session) newEpoch(now mono.Time, r *handshake.Result, initiator bool) *epoch {
	seal, err1 := r.Cipher.New(r.Send.Key)
	open, err2 := r.Cipher.New(r.Recv.Key)
	if err1 != nil || err2 != nil || s.over {
		s.cfg.Indexes.Release(r.LocalIndex)
		s.drop(DropHandshakeBad)
		return nil
	}
	e := &epoch{
		keys:      &SendKeys{aead: seal, key: r.Send.Key, iv: r.Send.IV, remote: r.RemoteIndex},
		recv:      &RecvKeys{Conn: s.conn, aead: open, key: r.Recv.Key, iv: r.Recv.IV, local: r.LocalIndex},
		created:   now,
		initiator: initiator,
		cipher:    r.Cipher,
		peer:      r.Hello.Incarnation,
		features:  r.Hello.Features,
	}
	s.cfg.Indexes.Publish(r.LocalIndex, e.recv)
	s.stats.Handshakes++
	return e
}

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

// used notes that the peer uses k. Replaced keys live on for as long as it does.
func (s *session) used(now mono.Time, k *RecvKeys) {
	if s.send != nil && s.send.recv == k {
		s.send.heard = true
	}
	if e := s.prev; e != nil && e.recv == k {
		e.dies = max(e.dies, now.Add(previousLife))
	}
}

// retire ends an epoch: its index is free and its keys are forgotten.
func (s *session) retire(e **epoch) {
	if *e != nil {
		s.cfg.Indexes.Release((*e).recv.local)
		*e = nil
	}
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

// expire ends keys whose time is over, and renews those that are used in time. It reports
// whether those in use have ended.
func (s *session) expire(now mono.Time) (ended bool) {
	if e := s.prev; e != nil && now >= e.dies {
		s.retire(&s.prev)
	}
	for _, e := range []**epoch{&s.next, &s.other} {
		if *e != nil && now.Sub((*e).created) >= s.life.reject {
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
	age, life := now.Sub(e.created), &s.life
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
		if e != nil && e.created.Add(s.life.reject) < at {
			at, why = e.created.Add(s.life.reject), "keys expire"
		}
	}
	return at, why
}
