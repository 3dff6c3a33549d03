package srd

import (
	"testing"
	"time"
)

// What a path that falls silent changes is a matter of the moment: until it is back, or
// for a while, and each further one counts anew.
func TestScriptFailingForAMoment(t *testing.T) {
	s := newScript(t, 3)
	for i := range 3 { // who was never heard is doubted with the first that falls silent
		s.ack(got(uint16(i), s.send(1, i)[0].pn))
	}
	s.ackAll(3, nil)
	s.mute = true
	want := func(when string, want bool) {
		t.Helper()
		if got := s.c.Failing(s.now); got != want {
			t.Errorf("%s: failing %v", when, got)
		}
	}
	want("all well", false)
	s.c.suspect(s.now, s.c.paths[0])
	want("a path fell silent", true)
	s.wait(failingFor / 2)
	s.c.suspect(s.now, s.c.paths[1])
	s.c.proven(s.now, s.c.paths[1], BasePacket)
	want("another was silent for a moment", true)
	s.wait(failingFor/2 + time.Millisecond)
	want("the first is silent for long", false)
	s.c.suspect(s.now, s.c.paths[1])
	want("another fell silent", true)
	s.c.proven(s.now, s.c.paths[1], BasePacket)
	want("and is back", false)
	s.wantSound(t)
}
