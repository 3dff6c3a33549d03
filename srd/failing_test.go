package srd

import (
	"testing"
	"time"
)

// A path that falls silent counts as failing until it works again, or for failingFor. Each
// further path that falls silent begins a new such time.
func TestScriptFailingForAMoment(t *testing.T) {
	s := newScript(t, 3)
	for slot := range uint16(3) {
		s.ack(got(slot, s.send(1, int(slot))[0].pn)) // so that the failure of one path makes no other path suspect
	}
	s.mute = true
	want := func(when string, want bool) {
		t.Helper()
		if got := s.c.Failing(s.now); got != want {
			t.Errorf("%s: failing %v", when, got)
		}
	}
	want("all well", false)
	s.c.paths.suspect(s.now, s.c.paths.table[0])
	want("a path fell silent", true)
	s.wait(failingFor / 2)
	s.c.paths.suspect(s.now, s.c.paths.table[1])
	s.c.paths.proven(s.now, s.c.paths.table[1], BasePacket)
	want("another was silent for a moment", true)
	s.wait(failingFor/2 + time.Millisecond)
	want("the first is silent for long", false)
	s.c.paths.suspect(s.now, s.c.paths.table[1])
	want("another fell silent", true)
	s.c.paths.proven(s.now, s.c.paths.table[1], BasePacket)
	want("and is back", false)
	s.wantSound(t)
}
