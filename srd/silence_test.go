package srd

import (
	"slices"
	"testing"
	"time"
)

// paths returns the path slots of the packets with the message `number`, after the first
// `from` packets.
func (s *script) paths(from int, number uint32) (v []uint16) {
	for _, p := range s.sent[from:] {
		if slices.Contains(p.numbers(), number) {
			v = append(v, p.slot)
		}
	}
	return v
}

// A lost message is sent again on a path with an acknowledgement since its transmission,
// not on one of the many paths without one.
func TestScriptRepairGoesWhereThePeerWasHeard(t *testing.T) {
	s := newScript(t, 8)
	for range 10 {
		v := s.send(3, 1)
		other := s.send(1, 6)
		s.ack(got(6, other[0].pn))
		s.pin.on = 3 // the path that the policy would choose
		from := len(s.sent)
		s.ack(got(1, v[1].pn, v[2].pn))
		if on := s.paths(from, v[0].numbers()[0]); len(on) != 1 || on[0] != 6 {
			t.Fatalf("lost on path 1, heard on 6, sent again on %v", on)
		}
		s.ackAll(s.c.recovery.out.next, nil)
	}
}

// A message is not given up if the paths on which it was sent fall silent one after the
// other.
func TestScriptSilentPathsAreNoReasonToGiveUp(t *testing.T) {
	s := newScript(t, 20)
	number := s.send(1, 0)[0].numbers()[0]
	const paths = 24
	repeated := 0
	for range paths {
		m := s.c.recovery.out.at(uint64(number))
		s.c.paths.suspect(s.now, s.c.paths.table[m.slot])
		from := len(s.sent)
		s.wait(time.Millisecond)
		repeated += len(s.paths(from, number))
	}
	if s.c.env.stats.GivenUp != 0 || repeated < paths/2 {
		t.Errorf("%d given up after %d repetitions on paths that fell silent", s.c.env.stats.GivenUp, repeated)
	}
}

// The peer has fallen silent. The oldest message is sent again on one other path, then on
// several at once. No path is used twice, and at most half of all paths are used. After the
// message is given up, its number is sent on one path at a time.
func TestScriptTailProbesWiden(t *testing.T) {
	s := newScript(t, 12)
	number := s.send(1, 0)[0].numbers()[0]
	var tried []uint16
	for _, want := range []int{1, probesMost / 2, 12 / 2} {
		from, before := len(s.sent), s.c.recovery.timer.backoff
		for s.c.recovery.timer.backoff == before {
			s.wait(time.Millisecond)
		}
		v := s.paths(from, number)
		if len(v) != want {
			t.Fatalf("probe %d goes on %d paths, want %d", before+1, len(v), want)
		}
		tried = append(tried, v...)
	}
	if slices.Contains(tried, 0) {
		t.Errorf("tried again where it was sent first: %v", tried)
	}
	slices.Sort(tried)
	if n := len(slices.Compact(tried)); n < 10 {
		t.Errorf("%d different paths in three probes", n)
	}
	s.wait(giveUpStream)
	for range 5 {
		from, before := len(s.sent), s.c.recovery.timer.backoff
		for s.c.recovery.timer.backoff == before {
			s.wait(time.Millisecond)
		}
		if v := s.paths(from, number); len(v) != 1 {
			t.Errorf("a tombstone goes on %d paths", len(v))
		}
	}
	s.wantSound(t)
}
