package srd

import (
	"testing"
	"time"
)

// Many paths fall silent at once because the link that all share is full. Probes of all
// of them at once would be as many full packets more for it.
func TestScriptProbesOfSilentPathsTakeTurns(t *testing.T) {
	const paths = 20
	s := newScript(t, paths)
	s.fixed.window = paths * 1472
	for i := range paths - 1 {
		s.send(1, i)
	}
	s.mute = true
	from := len(s.sent)
	probes := func() (n int) {
		for _, p := range s.sent[from:] {
			if p.size > BasePacket && len(p.numbers()) == 0 {
				n++
			}
		}
		return n
	}
	// What is sent later, on a path that works, is acknowledged, so all others are late.
	for range 40 {
		if s.c.inflight < s.fixed.window {
			v := s.send(1, paths-1)
			s.ack(got(paths-1, v[0].pn))
		}
		s.wait(time.Millisecond)
	}
	silent := 0
	for _, p := range s.c.paths {
		if p.silent() {
			silent++
		}
	}
	if silent < paths/2 {
		t.Fatalf("%d paths are silent", silent)
	}
	// Each has been probed, but an eighth of the window a round trip was not exceeded.
	most := 0
	for i := range s.sent {
		n := 0
		for _, p := range s.sent[i:] {
			if p.at.Sub(s.sent[i].at) > s.c.rtt.Smoothed() {
				break
			}
			if p.size > BasePacket && len(p.numbers()) == 0 {
				n++
			}
		}
		most = max(most, n)
	}
	if want := paths/probePart + 1; most > want {
		t.Errorf("%d probes in a round trip, want %d at most", most, want)
	}
	if n := probes(); n < silent {
		t.Errorf("%d probes of %d silent paths", n, silent)
	}
	s.wantSound(t)
}
