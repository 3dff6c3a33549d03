package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// When the keys of a connection have expired, it frees the memory for traffic. In the next
// session it continues with the same message and packet numbers.
func TestRestGivesMemoryBack(t *testing.T) {
	s := newSending(t, 3e5)
	for range 100 {
		s.round()
	}
	if len(s.c.recovery.out.ring) == 0 || s.c.paths.table[0].sent.Next() == 0 {
		t.Fatal("nothing was sent")
	}
	next, pn, keys := s.c.recovery.out.next, s.c.paths.table[0].sent.Next(), s.c.session.send
	s.now = s.now.Add(s.c.session.life().reject)
	s.c.Advance(s.now)
	if s.c.session.send != nil || s.c.session.calls.busy() {
		t.Fatal("the keys of an idle connection live on")
	}
	if len(s.c.recovery.out.ring) != 0 || s.c.receiver.pending != nil || s.c.receiver.received != nil {
		t.Errorf("%d messages, %d paths, %d received", len(s.c.recovery.out.ring), cap(s.c.receiver.pending), cap(s.c.receiver.received))
	}
	for _, p := range s.c.paths.table {
		if p.sent.First() != p.sent.Next() {
			t.Errorf("path %d remembers %d packets", p.slot, p.sent.Next()-p.sent.First())
		}
	}
	s.now = s.now.Add(time.Second)
	keys.created, keys.sent = s.now, 0
	s.c.session.send = keys
	for range 100 {
		s.round()
	}
	if s.c.recovery.out.next < next+100 || s.c.paths.table[0].sent.Next() < pn+100 || s.c.env.stats.Retransmitted > 0 {
		t.Errorf("message %d after %d, packet %d after %d, %d sent again", s.c.recovery.out.next, next, s.c.paths.table[0].sent.Next(), pn, s.c.env.stats.Retransmitted)
	}
}

// A ping is in flight when the keys expire. It will not be acknowledged, so it must not
// stay in flight until the next traffic.
func TestScriptPingWhenKeysExpire(t *testing.T) {
	s := newScript(t, 2)
	s.mute = true
	p := s.c.paths.table[1]
	s.now = s.c.session.send.created.Add(s.c.session.life().reject) - 1
	s.c.recovery.single(s.train, p, ledger.InFlight, 0, wire.AppendPing)
	if s.c.recovery.inflight == 0 {
		t.Fatal("nothing is in flight")
	}
	s.now++
	s.c.Advance(s.now)
	if s.c.recovery.inflight != 0 || s.c.session.send != nil {
		t.Errorf("%d bytes in flight without keys", s.c.recovery.inflight)
	}
	s.wantSound(t)
}
