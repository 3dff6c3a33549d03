package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// doubtful returns a connection of four paths, the second of which fell silent while the
// first was heard. The others were not heard since.
func doubtful(t *testing.T) *script {
	t.Helper()
	s := newScript(t, 4)
	for slot := range uint16(4) {
		s.ack(got(slot, s.send(1, int(slot))[0].pn))
	}
	s.send(1, 1)
	for p := s.c.paths[1]; p.state == PathActive; {
		s.ack(got(0, s.send(1, 0)[0].pn))
		s.wait(100 * time.Microsecond)
	}
	return s
}

// questions returns the pings on a path.
func (s *script) questions(slot uint16) (v []sent) {
	for _, p := range s.sent {
		if p.slot == slot && p.has(wire.KindPing) && !p.has(wire.KindAck) {
			v = append(v, p)
		}
	}
	return v
}

// When a path falls silent, those not heard since are asked, and carry nothing new until
// they answer; what was heard is not asked.
func TestScriptOthersAreAskedWhenAPathFallsSilent(t *testing.T) {
	s := doubtful(t)
	for slot, want := range []int{0, 0, 1, 1} {
		if n := len(s.questions(uint16(slot))); n != want {
			t.Errorf("path %d was asked %d times, want %d", slot, n, want)
		}
	}
	s.c.frozen = 0 // until then nothing goes there anyway
	s.pin.on = 2
	if p := s.c.choose(s.now); p.slot != 0 {
		t.Errorf("path %d carries data before it has answered", p.slot)
	}
	s.ack(got(2, s.questions(2)[0].pn))
	if p := s.c.choose(s.now); p.slot != 2 {
		t.Errorf("path %d, and not the one that has answered", p.slot)
	}
	s.pin.on = 3
	if p := s.c.choose(s.now); p.slot == 3 {
		t.Error("the other has not")
	}
	s.wantSound(t)
}

// Who never answers is asked again, and then suspect, though no data is lost on it.
func TestScriptUnansweredQuestions(t *testing.T) {
	s := doubtful(t)
	s.mute = true
	for range 200 {
		s.wait(time.Millisecond)
		s.ack(wire.Record{Slot: 0, Highest: s.send(1, 0)[0].pn, Below: 1<<8 - 1}) // repairs as well
	}
	if p := s.c.paths[3]; p.state == PathActive || p.stats.Lost != 0 || len(s.questions(3)) != 1+downAfter {
		t.Errorf("path is %v, %d packets lost, asked %d times", p.state, p.stats.Lost, len(s.questions(3)))
	}
	if !s.c.doubts.unsure.Empty() {
		t.Errorf("still in doubt: %v", s.c.doubts.unsure)
	}
	s.wantSound(t)
}

// Where no other path is left, those in doubt carry data.
func TestScriptDoubtIsBetterThanNothing(t *testing.T) {
	s := doubtful(t)
	s.c.suspect(s.now, s.c.paths[0])
	if p := s.c.choose(s.now); p == nil || p.slot < 2 {
		t.Errorf("path %v", p)
	}
	s.wantSound(t)
}
