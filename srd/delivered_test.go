package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// The message numbers in an acknowledgement free messages that no path record covers any
// more. Their packets stay in flight until a record, a later packet on the path, or a
// timeout settles them.
func TestScriptMessagesAreAcknowledgedByNumber(t *testing.T) {
	s := newScript(t, 2)
	v := s.send(5, 0)
	s.ackAll(2, []uint64{0b10})
	if s.c.recovery.out.first != 2 || s.c.env.stats.Acked != 3 || int(s.released) != 3 || s.c.recovery.out.open(4) || !s.c.recovery.out.open(3) {
		t.Fatalf("first %d, %d acknowledged, %d given back", s.c.recovery.out.first, s.c.env.stats.Acked, s.released)
	}
	s.wantSound(t)
	s.ackAll(5, nil)
	if size := v[0].size; !s.c.recovery.out.empty() || s.c.recovery.inflight != 5*size || s.fixed.acked != 0 {
		t.Fatalf("%d bytes in flight, %d credited", s.c.recovery.inflight, s.fixed.acked)
	}
	s.ack(got(0, v[4].pn))
	s.wantLost(0, v[0].pn, v[1].pn, v[2].pn) // the record shows their loss
	if size := v[0].size; s.c.recovery.inflight != size || s.fixed.acked != size {
		t.Fatalf("%d bytes in flight, %d credited", s.c.recovery.inflight, s.fixed.acked)
	}
	s.wait(50 * time.Millisecond)
	if size := v[0].size; s.c.recovery.inflight != 0 || s.fixed.acked != size {
		t.Fatalf("%d bytes in flight, %d credited", s.c.recovery.inflight, s.fixed.acked)
	}
	s.wantSound(t)
}

// A packet whose message was acknowledged by number, and whose packet number is too low for
// any record, is neither declared lost nor credited to the window.
func TestScriptDeliveredBeyondTheReachOfRecords(t *testing.T) {
	s := newScript(t, 1)
	v := s.send(100, 0)
	s.ackAll(100, nil, wire.Record{Slot: 0, Highest: v[99].pn, Below: ^uint64(0)})
	s.wantLost(0)
	if size := v[0].size; s.c.recovery.inflight != 0 || s.fixed.acked != 65*size || s.fixed.lost != 0 {
		t.Fatalf("%d bytes in flight, %d credited, %d lost", s.c.recovery.inflight, s.fixed.acked, s.fixed.lost)
	}
	s.wantSound(t)
}

// A path does not count as silent because of unacknowledged packets whose messages have
// arrived on another path.
func TestScriptDeliveredPacketsSilenceNoPath(t *testing.T) {
	s := newScript(t, 2)
	s.send(3, 0)
	s.ackAll(3, nil)
	s.ack(got(1, s.send(1, 1)[0].pn))
	s.wait(100 * time.Millisecond)
	if p := s.c.paths.table[0]; p.state != PathActive || s.c.recovery.inflight != 0 {
		t.Errorf("the path is %v, with %d bytes in flight", p.state, s.c.recovery.inflight)
	}
	s.wantLost(0)
	s.wantSound(t)
}

// Records cover all arrived packets in two successive acknowledgements, however long the
// train was.
func TestScriptRecordsTellOfLongTrains(t *testing.T) {
	s := newScript(t, 1)
	arrive := func(n int) {
		for range n {
			s.arrive(0, 100, wire.AppendPing(nil))
		}
	}
	told := func() map[uint64]int {
		from := len(s.sent)
		s.now = s.now.Add(2 * time.Millisecond)
		s.c.Advance(s.now)
		s.pump()
		v := map[uint64]int{}
		for _, p := range s.sent[from:] {
			for _, f := range p.frames {
				for i := range f.Ack.NumRecords() {
					r := f.Ack.Record(i)
					for pn := r.Highest - min(r.Highest, wire.RecordReach); pn <= r.Highest; pn++ {
						if claims(&r, pn) {
							v[pn]++
						}
					}
				}
			}
		}
		return v
	}
	told()
	from := s.peerPN[0]
	for _, n := range []int{200, 1, 130, 65, 40} {
		before, next := from, s.peerPN[0]
		arrive(n)
		v := told()
		for pn := before; pn < s.peerPN[0]; pn++ {
			if v[pn] == 0 {
				t.Fatalf("nothing is told of packet %d of %d to %d", pn, before, s.peerPN[0])
			}
		}
		from = next
	}
	// Records need not cover a long run of lost packets.
	s.peerPN[0] += 100
	arrive(10)
	lost := s.peerPN[0] - 11
	if v := told(); v[lost] != 0 || v[lost+1] == 0 || v[lost-100] == 0 {
		t.Errorf("%d: %d, after it %d, before the gap %d", lost, v[lost], v[lost+1], v[lost-100])
	}
}
