package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// newFarScript returns a script with four near paths, and two paths with the round trip
// `far`. On each path one packet was acknowledged. The peer answers no further challenge.
func newFarScript(t *testing.T, far time.Duration) *script {
	s := newScript(t, 6)
	for slot := range uint16(6) {
		s.ack(got(slot, s.send(1, int(slot))[0].pn))
	}
	for _, p := range s.c.paths.table[4:] {
		p.rtt = rtt.Estimator{}
		for range 9 {
			p.rtt.Add(s.now, far, 0)
		}
		p.len = p.length()
	}
	s.mute = true
	return s
}

// The cable of all near paths has failed. Repairs use far paths with an acknowledgement
// since then. New data uses them when the near paths have been silent for longer than the
// round trip of the far ones.
func TestScriptFarPathsWhenAllNearOnesAreLate(t *testing.T) {
	const far, on = 20, 5 // round trip in milliseconds, and slot of the far path that works
	s := newFarScript(t, far*time.Millisecond)
	var pings []uint64
	// step lets a millisecond pass, in which the far path gets one more round-trip sample.
	step := func() {
		p := s.c.paths.table[on]
		pings = append(pings, p.sent.Next())
		s.c.recovery.single(s.train, p, ledger.InFlight, 0, wire.AppendPing)
		s.wait(800 * time.Microsecond)
		if n := len(pings) - far; n >= 0 {
			s.ack(got(on, pings[n]))
		}
	}
	for range far + 5 {
		step()
	}
	from := len(s.sent)
	number := s.send(1, 0)[0].numbers()[0]
	if s.c.choice.eligible.Has(4) || s.c.choice.eligible.Has(on) || s.c.choice.eligible.Len() != 4 {
		t.Fatalf("eligible are %v", s.c.choice.eligible)
	}
	for n := 0; s.c.paths.table[0].state == PathActive && n < 2*far; n++ {
		step()
	}
	if s.c.recovery.timer.backoff > 1 || s.c.choice.eligible.Has(on) {
		t.Fatalf("%d tail probes, eligible are %v: nothing was tested", s.c.recovery.timer.backoff, s.c.choice.eligible)
	}
	if v := s.paths(from, number); len(v) != 2 || v[1] != on {
		t.Errorf("sent on %v, want it again on path %d, the only one that was heard", v, on)
	}
	for slot := 1; slot < 4; slot++ {
		s.send(1, slot)
	}
	s.pin.on = 1
	if p := s.c.choice.choose(s.now); p.slot != 1 {
		t.Errorf("path %d, and the near ones are not late", p.slot)
	}
	for range far + 5 {
		step()
	}
	if p := s.c.choice.choose(s.now); p.slot != on {
		t.Errorf("path %d, and all near ones have been silent for longer than the far one takes", p.slot)
	}
	s.wantSound(t)
}
