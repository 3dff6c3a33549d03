package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// A message is acknowledged on the nearest path. A message that arrives a second time is
// acknowledged once on the path on which it arrived, because nearer paths may have failed
// in the direction to the peer.
func TestScriptAcknowledgesWhereItComesAgain(t *testing.T) {
	s := newScript(t, 3)
	s.lengthen(10 * time.Millisecond)
	for range 50 {
		s.c.paths.table[0].rtt.Add(s.now, 5*time.Millisecond, 0)
	}
	s.c.paths.table[0].len = 5 * time.Millisecond
	ackedOn := func(slot uint16, number uint32) uint16 {
		from := len(s.sent)
		s.arrive(slot, 100, wire.AppendMessage(nil, number, &Imm{}, []byte("x")))
		s.wait(10 * time.Millisecond)
		for _, p := range s.sent[from:] {
			if p.has(wire.KindAck) {
				return p.slot
			}
		}
		t.Fatalf("message %d is not acknowledged", number)
		return 0
	}
	heard := uint32(100)
	for _, x := range []struct {
		slot   uint16
		number uint32
		on     uint16
	}{{1, 1, 0}, {2, 1, 2}, {1, 1, 1}, {2, 2, 0}} {
		heard++
		ackedOn(0, heard) // the peer uses the nearest path
		if on := ackedOn(x.slot, x.number); on != x.on {
			t.Errorf("message %d came on path %d and is acknowledged on %d, want %d", x.number, x.slot, on, x.on)
		}
	}
	s.wantSound(t)
}

// The responder of the handshake opens no paths in addition to the peer's. If the peer's
// paths fall silent, it opens paths, because all of the peer's may have failed unnoticed.
func TestScriptCalledOneOpensPathsInSilence(t *testing.T) {
	s := newScript(t, 2)
	s.c.env.cfg.Eager = false
	for _, p := range s.c.paths.table {
		p.ours = false
	}
	s.c.SetTuples(s.now, nil, s.tuples(8)...)
	s.wait(time.Second)
	if n := len(s.c.Paths()); n != 2 {
		t.Fatalf("%d paths beside two of the peer's", n-2)
	}
	s.deaf = func(t Tuple) bool { return t.Sock < 2 }
	s.send(1, 0)
	s.wait(giveUpStream)
	if n := len(s.c.Paths()); n != 8 {
		t.Errorf("in silence %d of 8 paths", n)
	}
	if s.c.env.stats.GivenUp != 0 {
		t.Error("the message is given up")
	}
	s.wantSound(t)
}
