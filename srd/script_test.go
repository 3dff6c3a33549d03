package srd

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

func TestScriptFIFORule(t *testing.T) {
	s := newScript(t, 3)
	v := s.send(3, 1)
	s.ack(got(1, v[1].pn))
	s.wantLost(1) // neighbouring packets may have been swapped
	from := len(s.sent)
	s.ack(got(1, v[1].pn, v[2].pn))
	s.wantLost(1, v[0].pn)
	if n := s.resent(from, 1); !slices.Equal(n, v[0].numbers()) {
		t.Errorf("sent again: %v, want %v", n, v[0].numbers())
	}
	s.wantSound(t)
}

// The arrival of a later packet on another path does not prove a loss.
func TestScriptGapOnAnotherPathLosesNothing(t *testing.T) {
	s := newScript(t, 3)
	old := s.send(1, 0)
	v := s.send(20, 1)
	from := len(s.sent)
	for i := range v {
		s.now -= mono.Time(190 * time.Microsecond) // ack lets 200 us pass
		s.ack(got(1, v[i].pn))
	}
	s.wantLost(0)
	s.wantLost(1)
	if n := s.resent(from, 9); len(n) != 0 {
		t.Errorf("sent again: %v", n)
	}
	// Now the path is silent for longer than a round trip can take, while packets that were
	// sent later on another path arrive. This proves a loss, and the path goes out of use.
	s.wait(time.Millisecond)
	s.ack(got(1, s.send(1, 1)[0].pn))
	s.wait(30 * time.Millisecond)
	s.wantLost(0, old[0].pn)
	if n := s.resent(from, 0); !slices.Contains(n, old[0].numbers()[0]) {
		t.Errorf("sent again: %v, want %v", n, old[0].numbers())
	}
}

// If a packet that was declared lost is acknowledged later, the packet threshold rises.
func TestScriptSpuriousLoss(t *testing.T) {
	s := newScript(t, 2)
	v := s.send(3, 0)
	s.ack(got(0, v[2].pn))
	s.wantLost(0, v[0].pn)
	if s.fixed.lost == 0 {
		t.Fatal("congestion control was not told")
	}
	s.ack(got(0, v[0].pn, v[1].pn, v[2].pn))
	if n := s.c.paths.table[0].stats.Spurious; n != 1 {
		t.Fatalf("%d spurious losses", n)
	}
	v = s.send(3, 0)
	s.ack(got(0, v[2].pn))
	if n := s.c.paths.table[0].stats.Lost; n != 1 {
		t.Errorf("%d lost: the path is known to reorder", n)
	}
	s.wantSound(t)
}

func TestScriptLiesEndTheSession(t *testing.T) {
	for name, lie := range map[string]func(s *script) (first uint64, r []wire.Record){
		"unsent packet": func(s *script) (uint64, []wire.Record) {
			return 0, []wire.Record{got(0, s.c.paths.table[0].sent.Next())}
		},
		"unsent message":  func(s *script) (uint64, []wire.Record) { return s.c.recovery.out.next + 1, nil },
		"unknown path":    func(s *script) (uint64, []wire.Record) { return 0, []wire.Record{got(77, 0)} },
		"path at the end": func(s *script) (uint64, []wire.Record) { return 0, []wire.Record{got(1<<16-1, 0)} },
		"skipped packet, highest": func(s *script) (uint64, []wire.Record) {
			return 0, []wire.Record{got(0, s.skip(0))}
		},
		"skipped packet, below": func(s *script) (uint64, []wire.Record) {
			pn := s.skip(0)
			return 0, []wire.Record{got(0, pn-1, pn, pn+1)}
		},
		"skipped packet, not the newest": func(s *script) (uint64, []wire.Record) {
			pn := s.skip(0)
			s.skip(0)
			return 0, []wire.Record{got(0, pn, pn+1)}
		},
		"skipped packet, all before it settled": func(s *script) (uint64, []wire.Record) {
			pn := s.skip(0)
			s.ackAll(4, nil, wire.Record{Slot: 0, Highest: pn - 1, Below: ^uint64(0)})
			s.wait(time.Second)
			return 0, []wire.Record{got(0, pn)}
		},
		"skipped packet, below, late": func(s *script) (uint64, []wire.Record) {
			pn := s.skip(0)
			v := s.send(30, 0)
			s.ack(got(0, pn-1, pn+1, v[3].pn))
			return 0, []wire.Record{got(0, pn, v[29].pn)}
		},
	} {
		s := newScript(t, 2)
		s.send(4, 0)
		first, r := lie(s)
		s.ackAll(first, nil, r...)
		if s.wantEnded(true); t.Failed() {
			t.Fatalf("the lie was: %s", name)
		}
	}
}

// skip makes the Conn skip a packet number on the path `on`, and returns that number.
func (s *script) skip(on int) uint64 {
	s.c.recovery.nextSkip = 1
	next := s.c.paths.table[on].sent.Next()
	v := s.send(1, on)
	s.c.recovery.nextSkip = 1 << 30
	if v[0].pn != next+1 {
		s.t.Fatalf("packet number %d after %d: nothing was skipped", v[0].pn, next-1)
	}
	return next
}

func TestScriptHonestyAboutSkippedNumbers(t *testing.T) {
	s := newScript(t, 2)
	v := s.send(4, 0)
	pn := s.skip(0)
	s.ack(got(0, v[0].pn, v[1].pn, v[2].pn, v[3].pn, pn+1))
	s.wantEnded(false)
	s.wantLost(0)
	if s.c.recovery.inflight != 0 {
		t.Fatalf("%d bytes in flight", s.c.recovery.inflight)
	}
}

// A payload that was lost for too long is given up. Only its message number is still sent.
func TestScriptTombstone(t *testing.T) {
	for class, limit := range map[Class]time.Duration{Datagram: giveUpDatagram, Stream: giveUpStream} {
		s := newScript(t, 3)
		s.class = class
		first := s.send(1, 0)[0]
		number := first.numbers()[0]
		s.wait(limit / 2)
		if s.c.env.stats.GivenUp != 0 || s.released != 0 {
			t.Fatalf("given up after half of %v", limit)
		}
		s.wait(3 * time.Second)
		if s.c.env.stats.GivenUp != 1 || s.released != 1 {
			t.Fatalf("%d given up, %d payloads given back", s.c.env.stats.GivenUp, s.released)
		}
		buried := mono.Time(0)
		for _, p := range s.sent {
			for _, f := range p.frames {
				switch {
				case f.Kind == wire.KindTombstone && f.Number == number && f.Imm == Imm{1, 2, 3}:
					buried = mono.Time(max(int64(buried), int64(p.at)))
				case f.Kind == wire.KindMessage && buried != 0:
					t.Fatal("the payload travels after the tombstone")
				}
			}
		}
		if buried == 0 {
			t.Fatal("no tombstone")
		}
		s.ackAll(uint64(number)+1, nil)
		if !s.c.recovery.out.empty() || s.released != 1 {
			t.Fatalf("%d payloads given back", s.released)
		}
		s.wantSound(t)
	}
}

func TestScriptTombstoneArrives(t *testing.T) {
	s := newScript(t, 1)
	s.arrive(0, 100, wire.AppendTombstone(nil, 0, &Imm{7}))
	if m, ok := s.c.Recv(); !ok || !m.Expired || m.Imm != (Imm{7}) || m.Data != nil {
		t.Fatalf("%+v", m)
	}
	s.arrive(0, 100, wire.AppendMessage(nil, 0, &Imm{7}, []byte("late")))
	if m, ok := s.c.Recv(); ok || s.c.env.stats.Drops[DropDuplicate] != 1 {
		t.Fatalf("%+v after its tombstone", m)
	}
}

// Whatever the peer acknowledges and whatever is lost, the state stays consistent. The
// bytes in flight exceed the window by at most one train, apart from tail probes and from
// acknowledgements with a PING.
func TestScriptWindowBound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newScript(t, 3)
		s.fixed.window = rapid.IntRange(2000, 60_000).Draw(r, "window")
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			s.step(r)
			s.wantSound(r)
			probes := 1472 * (4 + int(s.c.recovery.timer.backoff))
			if s.c.recovery.inflight > s.fixed.window+s.c.paths.packet+probes {
				r.Fatalf("%d bytes in flight, window %d", s.c.recovery.inflight, s.fixed.window)
			}
		}
		s.finish(r)
	})
}

// step makes one random event happen to the Conn.
func (s *script) step(r *rapid.T) {
	s.left = rapid.IntRange(0, 100).Draw(r, "messages")
	s.pin.on = rapid.IntRange(0, 2).Draw(r, "path")
	s.size = rapid.IntRange(1, 1400).Draw(r, "size")
	s.pump()
	l := &s.c.paths.table[s.pin.on].sent
	switch rapid.IntRange(0, 3).Draw(r, "verb") {
	case 0:
		s.wait(time.Duration(rapid.Int64Range(0, int64(50*time.Millisecond)).Draw(r, "wait")))
	case 1:
		if l.Next() > 0 {
			highest := rapid.Uint64Range(l.First()-min(l.First(), 1), l.Next()-1).Draw(r, "highest")
			s.ack(wire.Record{Slot: uint16(s.pin.on), Highest: highest, Below: rapid.Uint64().Draw(r, "below")})
		}
	case 2:
		s.ackAll(rapid.Uint64Range(0, s.c.recovery.out.next).Draw(r, "first"), []uint64{rapid.Uint64().Draw(r, "word")})
	case 3:
		s.arrive(uint16(s.pin.on), 1000, wire.AppendMessage(nil, rapid.Uint32Range(0, 300).Draw(r, "number"), &Imm{}, []byte("x")))
	}
}

// finish makes the peer acknowledge everything, and checks that nothing is left in flight.
func (s *script) finish(r *rapid.T) {
	s.left = 0
	s.ackAll(s.c.recovery.out.next, nil)
	s.wait(3 * time.Second)
	s.ackAll(s.c.recovery.out.next, nil)
	if !s.c.recovery.out.empty() || uint64(s.released) != s.c.env.stats.Sent {
		r.Fatalf("%d messages sent, %d payloads given back", s.c.env.stats.Sent, s.released)
	}
	s.wantSound(r)
}

// An authenticated peer sends malicious frames.
func TestScriptHostilePeer(t *testing.T) {
	t.Run("messages far ahead", func(t *testing.T) {
		s := newScript(t, 1)
		for i := range uint32(1000) {
			s.arrive(0, 100, wire.AppendMessage(nil, seq.WindowSize+i*4_000_000, &Imm{}, []byte("x")))
		}
		if m, ok := s.c.Recv(); ok || s.c.env.stats.Drops[DropMessageFar] == 0 {
			t.Fatalf("%+v; %+v", m, s.c.env.stats.Drops)
		}
		s.arrive(0, 100, wire.AppendMessage(nil, seq.WindowSize-1, &Imm{}, []byte("x")))
		if m, ok := s.c.Recv(); !ok || string(m.Data) != "x" {
			t.Fatalf("the last of the window: %+v", m)
		}
	})
	t.Run("all slots", func(t *testing.T) {
		s := newScript(t, 2)
		for slot := range uint16(2000) {
			s.arriveOn(s.tuple(slot%2), slot, 100, wire.AppendPing(nil))
		}
		if n := s.c.env.stats.Drops[DropSlot]; n != 2000-steer.MaxPaths-1 {
			t.Errorf("%d packets on slots out of range", n)
		}
		if len(s.c.receiver.pending) > steer.MaxPaths || len(s.c.paths.table) != 2 {
			t.Errorf("%d to acknowledge, %d paths", len(s.c.receiver.pending), len(s.c.paths.table))
		}
		s.wait(time.Second)
		for _, p := range s.sent {
			if p.size > BasePacket {
				t.Errorf("an acknowledgement of %d bytes", p.size)
			}
		}
	})
	t.Run("garbage", func(t *testing.T) {
		s := newScript(t, 1)
		rng := seeded(1)
		for range 3000 {
			b := make([]byte, rng.IntN(200))
			for i := range b {
				b[i] = byte(rng.Uint32N(9))
			}
			s.arrive(0, len(b)+32, b)
			for ok := true; ok; {
				_, ok = s.c.Recv()
			}
			if s.pump(); !s.c.session.ready(s.now) {
				s.c.session.send = &epoch{keys: &SendKeys{remote: 9}, recv: s.keys, created: s.now}
			}
		}
		if s.c.env.stats.Drops[DropMalformed] == 0 {
			t.Error("nothing was malformed")
		}
		s.wantSound(t)
	})
}

// FuzzHandle checks that no decrypted packet makes a Conn panic, or makes its state
// inconsistent.
func FuzzHandle(f *testing.F) {
	f.Add(wire.AppendMessage(wire.AppendPing(nil), 3, &Imm{}, []byte("x")), uint16(0))
	f.Add(wire.AppendAck(nil, 2, 0, []wire.Record{{Slot: 0, Highest: 4, Below: 5}, {Slot: 1, Highest: 3, Below: ^uint64(0)}}, []uint64{6}), uint16(1))
	f.Add(wire.AppendSecret(wire.AppendTombstone(nil, 9, &Imm{}), wire.KindChallenge, &wire.Secret{1}), uint16(255))
	f.Add(wire.AppendClose(nil, 0), uint16(256))
	f.Fuzz(func(t *testing.T, plain []byte, slot uint16) {
		s := newScript(t, 2)
		s.send(5, 0)
		s.send(5, 1)
		s.arriveOn(s.tuple(slot%3), slot, len(plain)+32, plain)
		n := 0
		for _, ok := s.c.Recv(); ok; _, ok = s.c.Recv() {
			n++
		}
		if n*wire.TombstoneLen > len(plain) {
			t.Fatalf("%d messages of %d bytes", n, len(plain))
		}
		s.wait(10 * time.Millisecond)
		s.wantSound(t)
	})
}

// challenges returns how many challenges were sent on the path in the slot.
func (s *script) challenges(slot uint16) (n int) {
	for _, p := range s.sent {
		if p.slot == slot && p.has(wire.KindChallenge) {
			n++
		}
	}
	return n
}

// While no message was in flight, acknowledgements with a PING had no answer. When there
// are messages again, the peer must not count as silent because of that.
func TestScriptUnansweredPingsAreNoSilence(t *testing.T) {
	s := newScript(t, 2)
	for range 1000 {
		s.arrive(0, 100, wire.AppendPing(nil))
		s.wait(2 * time.Millisecond)
	}
	if s.c.recovery.timer.backoff < silentAfter {
		t.Fatalf("%d tail timeouts: nothing was unanswered for long", s.c.recovery.timer.backoff)
	}
	s.send(20, 1) // all at once
	before := len(s.sent)
	s.wait(s.c.recovery.pto())
	if len(s.sent) == before {
		t.Error("no tail probe after one timeout")
	}
}

// The retransmissions of some messages are acknowledged. The packets that carried these
// messages first are lost, and no later packet on their path proves it. No message depends
// on these packets any more, so they must not fill a small window until the longest repair
// time is over.
func TestScriptCopiesThatNobodyWaitsForLeaveTheWindow(t *testing.T) {
	s := newScript(t, 2)
	first := s.send(4, 0)
	for n := range s.c.recovery.out.next {
		s.c.recovery.queueRetransmit(n)
	}
	from := len(s.sent)
	s.pump()
	var copies []uint64
	for _, p := range s.sent[from:] {
		copies = append(copies, p.pn)
	}
	s.ack(got(1, copies...))
	if !s.c.recovery.out.empty() || s.c.recovery.inflight < 4*first[0].size {
		t.Fatalf("%d bytes in flight, box empty: %v", s.c.recovery.inflight, s.c.recovery.out.empty())
	}
	s.fixed.window = s.c.recovery.inflight
	s.left = 1
	s.wait(50 * time.Millisecond)
	if s.left > 0 {
		t.Errorf("nothing new after 50 ms, %d bytes in flight", s.c.recovery.inflight)
	}
	s.wantSound(t)
}

// When all messages are sent, late messages on a slow path are sent again on another path,
// although the slow path is still in use. As long as there are new messages, they are not
// sent again.
func TestScriptReinjection(t *testing.T) {
	for _, more := range []bool{false, true} {
		s := newScript(t, 3)
		old := s.send(1, 0)
		s.wait(time.Millisecond)
		s.ack(got(1, s.send(1, 1)[0].pn))
		if more {
			s.fixed.window, s.left = s.c.recovery.inflight, 1
		}
		from := len(s.sent)
		s.wait(s.c.env.lateAfter(s.c.paths.table[0]) - time.Millisecond)
		resent := slices.Contains(s.resent(from, 9), old[0].numbers()[0])
		if p := s.c.paths.table[0]; p.state != PathActive || p.stats.Lost != 0 {
			t.Fatalf("path is %v, %d lost: nothing was tested", p.state, p.stats.Lost)
		}
		if resent == more {
			t.Errorf("more to send: %v, sent again: %v", more, resent)
		}
		if n := s.c.env.stats.Retransmitted; n > 1 {
			t.Errorf("%d copies", n)
		}
		s.wantSound(t)
	}
}

// A path that fell silent is not probed at once: its packets in flight may still be
// acknowledged. If a queue makes the path slow, a probe would make the queue longer.
func TestScriptSuspectIsProbedAfterItsTime(t *testing.T) {
	s := newScript(t, 3)
	s.send(1, 0)
	s.wait(time.Millisecond)
	s.ack(got(1, s.send(1, 1)[0].pn))
	p := s.c.paths.table[0]
	s.fixed.window, s.left = s.c.recovery.inflight, 1 // a message waits, so no copies of late messages are sent
	for p.state == PathActive {
		s.wait(100 * time.Microsecond)
	}
	s.mute = true
	before := s.challenges(0)
	wait := s.c.env.lostAfter(p)
	s.wait(wait - 200*time.Microsecond)
	if n := s.challenges(0) - before; n != 0 {
		t.Errorf("%d probes within %v", n, wait)
	}
	s.wait(time.Millisecond)
	if n := s.challenges(0) - before; n != 1 {
		t.Errorf("%d probes after %v, want one", n, wait)
	}
}
