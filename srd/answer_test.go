package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// acks lets one of numbers arrive on each of the paths from 0 on, all in one moment, and
// returns on which paths acknowledgements went out.
func (s *script) acks(numbers ...uint32) (on []uint16) {
	from := len(s.sent)
	for slot, n := range numbers {
		s.arrive(uint16(slot), 100, wire.AppendMessage(nil, n, &Imm{}, []byte("x")))
	}
	s.wait(10 * time.Millisecond)
	for _, p := range s.sent[from:] {
		if p.has(wire.KindAck) {
			on = append(on, p.slot)
		}
	}
	slices.Sort(on)
	return on
}

// Copies of a message that was acknowledged before, on several paths at once, are a tail
// probe: the peer has heard nothing for long. Each path may be dead in our direction, so
// each gets an acknowledgement. What is new gets one for all.
func TestScriptTailProbeIsAnsweredOnEachPath(t *testing.T) {
	s := newScript(t, 4)
	for _, x := range []struct {
		numbers []uint32
		acks    int
	}{
		{[]uint32{0, 0, 0, 0}, 1},
		{[]uint32{0, 0, 0}, 3},
		{[]uint32{1, 2, 3, 4}, 1},
		{[]uint32{5, 5, 6, 6}, 1},
		{[]uint32{7}, 1},
	} {
		on := s.acks(x.numbers...)
		if len(on) != x.acks || len(slices.Compact(slices.Clone(on))) != x.acks {
			t.Errorf("messages %v: acknowledged on paths %v, want %d", x.numbers, on, x.acks)
		}
		s.wait(time.Second)
		s.wantSound(t)
	}
}

// No more than the peer probes at once, however many copies come.
func TestScriptAnswersAreBounded(t *testing.T) {
	s := newScript(t, 2*probesMost)
	s.acks(0)
	if on := s.acks(make([]uint32, 2*probesMost)...); len(on) < probesMost || len(on) > probesMost+1 {
		t.Errorf("%d acknowledgements of one message", len(on))
	}
	if on := s.acks(make([]uint32, 3)...); len(on) != 3 {
		t.Errorf("then acknowledged on %v", on)
	}
}

// Hosts send little while somebody waits for the answer, one packet at a time perhaps, and
// read the rest of a probe before all is answered. What is owed is not forgotten for that.
func TestScriptAnswersOutliveTheNextBatch(t *testing.T) {
	s := newScript(t, 4)
	s.acks(0)
	s.wait(time.Second)
	from := len(s.sent)
	for slot := range uint16(3) {
		s.arrive(slot, 100, wire.AppendMessage(nil, 0, &Imm{}, []byte("x")))
	}
	s.one()
	s.arrive(3, 100, wire.AppendMessage(nil, 0, &Imm{}, []byte("x")))
	s.wait(10 * time.Millisecond)
	on := map[uint16]bool{}
	for _, p := range s.sent[from:] {
		if p.has(wire.KindAck) {
			on[p.slot] = true
		}
	}
	if !on[0] || !on[1] || !on[2] {
		t.Errorf("acknowledged on %v", on)
	}
	s.wantSound(t)
}
