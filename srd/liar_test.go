package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// lie delivers an acknowledgement of a packet that was never sent.
func (s *script) lie() {
	s.arrive(0, 100, wire.AppendAck(nil, s.c.recovery.out.next+1, 0, nil, nil))
}

// meet gives the script a new session.
func (s *script) meet() {
	s.c.session.send = &epoch{keys: &SendKeys{remote: 9}, recv: s.keys, created: s.now, initiator: true}
	s.c.session.since = s.now
}

// This end sends no initiation to a peer that has lied before the peer's wait is over. The
// next session begins with a new window. The wait doubles with each lie. After liarForgiven
// without a lie the next wait is the shortest one again.
func TestScriptLiarIsNotCalled(t *testing.T) {
	s := newScript(t, 2)
	want := liarFirst
	for i := range 10 {
		s.lie()
		s.wantEnded(true)
		if s.fixed.resets != i+1 {
			t.Fatalf("the window was reset %d times after %d lies", s.fixed.resets, i+1)
		}
		s.left = 1
		s.c.Connect(s.now)
		s.wait(want - 1)
		if s.c.session.calls.busy() || len(s.c.session.out) > 0 {
			t.Fatalf("lie %d: called before %v", i+1, want)
		}
		s.wait(1)
		if !s.c.session.calls.busy() {
			t.Fatalf("lie %d: not called after %v", i+1, want)
		}
		s.c.session.calls.abandon()
		want = min(2*want, liarMost)
		s.meet()
	}
	s.c.env.stats.Drops[DropAckInvalid] = 0
	s.wait(liarForgiven + time.Second)
	s.meet()
	s.lie()
	if got := s.c.session.liar.until.Sub(s.now); got != liarFirst {
		t.Errorf("it waits %v, although its lies were long ago", got)
	}
	s.wantSound(t)
}

// This end sends a lying peer no responses either, not even copies of earlier responses.
func TestScriptLiarIsNotAnswered(t *testing.T) {
	s := newScript(t, 1)
	other, _ := handshake.NewIdentity(handshake.PrivateKey{2})
	hello := func() (*handshake.Incoming, []byte) {
		h := handshake.Hello{Timestamp: s.c.env.cfg.Timestamp(s.now), Incarnation: 3, Offers: s.c.env.cfg.Offers}
		_, msg, err := other.Initiate(s.c.env.cfg.Rand, s.c.env.cfg.Identity.Public(), handshake.PSK{}, 1, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.c.env.cfg.Identity.Receive(msg)
		if err != nil {
			t.Fatal(err)
		}
		return in, msg
	}
	in, first := hello()
	s.c.session.handleInitiation(s.now, s.tuple(0), in, first, false)
	if s.pump(); s.c.session.next == nil {
		t.Fatal("an honest peer is not answered")
	}
	s.lie()
	if s.c.session.next != nil || s.c.session.handleCopy(s.tuple(0), first) {
		t.Error("what was answered before goes on")
	}
	s.wait(liarFirst / 2)
	in, msg := hello()
	stale := s.c.session.handleInitiation(s.now, s.tuple(0), in, msg, false)
	if stale || s.c.session.next != nil || len(s.c.session.out) > 0 || s.c.env.stats.Drops[DropLiar] != 1 {
		t.Errorf("stale %v, %d packets out, counters %v", stale, len(s.c.session.out), s.c.env.stats.Drops)
	}
	s.wait(liarFirst)
	in, msg = hello()
	if s.c.session.handleInitiation(s.now, s.tuple(0), in, msg, false); s.c.session.next == nil {
		t.Error("not answered after its wait")
	}
}
