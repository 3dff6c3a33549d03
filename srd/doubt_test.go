package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/rtt"
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
	for p := s.c.paths.table[1]; p.state == PathActive; {
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
	s.c.choice.frozen = 0 // until then nothing goes there anyway
	s.pin.on = 2
	if p := s.c.choice.choose(s.now); p.slot != 0 {
		t.Errorf("path %d carries data before it has answered", p.slot)
	}
	s.ack(got(2, s.questions(2)[0].pn))
	if p := s.c.choice.choose(s.now); p.slot != 2 {
		t.Errorf("path %d, and not the one that has answered", p.slot)
	}
	s.pin.on = 3
	if p := s.c.choice.choose(s.now); p.slot == 3 {
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
	if p := s.c.paths.table[3]; p.state == PathActive || p.stats.Lost != 0 || len(s.questions(3)) != 1+downAfter {
		t.Errorf("path is %v, %d packets lost, asked %d times", p.state, p.stats.Lost, len(s.questions(3)))
	}
	if !s.c.choice.doubts.unsure.Empty() {
		t.Errorf("still in doubt: %v", s.c.choice.doubts.unsure)
	}
	s.wantSound(t)
}

// Where no other path is left, those in doubt carry data.
func TestScriptDoubtIsBetterThanNothing(t *testing.T) {
	s := doubtful(t)
	s.c.paths.suspect(s.now, s.c.paths.table[0])
	if p := s.c.choice.choose(s.now); p == nil || p.slot < 2 {
		t.Errorf("path %v", p)
	}
	s.wantSound(t)
}

// When the cable of all near paths has died, what is sent anew and what is sent again goes
// on those further away that were heard since, before the near ones are known to be dead.
func TestScriptFarPathsWhenAllNearOnesAreInDoubt(t *testing.T) {
	const far, on = 20, 5 // milliseconds, and the path that takes them and is alive
	s := newScript(t, 6)
	for slot := range uint16(6) {
		s.ack(got(slot, s.send(1, int(slot))[0].pn))
	}
	for _, p := range s.c.paths.table[4:] {
		p.rtt = rtt.Estimator{}
		for range 9 {
			p.rtt.Add(s.now, far*time.Millisecond)
		}
	}
	s.mute = true
	var pings []uint64
	// step lets a millisecond pass in which the far path is measured once more.
	step := func() {
		p := s.c.paths.table[on]
		pings = append(pings, p.sent.Next())
		s.c.recovery.single(s.now, s.train, p, ledger.InFlight, 0, wire.AppendPing)
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
	if s.c.choice.reach.near.Has(4) || s.c.choice.reach.near.Has(on) || s.c.choice.reach.near.Len() != 4 {
		t.Fatalf("near are %v", s.c.choice.reach.near)
	}
	for n := 0; s.c.paths.table[0].state == PathActive && n < 2*far; n++ {
		step()
	}
	if s.c.choice.desperate() || s.c.choice.reach.near.Has(on) || len(s.questions(2)) == 0 {
		t.Fatalf("desperate %v, near are %v: nothing was tested", s.c.choice.desperate(), s.c.choice.reach.near)
	}
	if v := s.paths(from, number); len(v) != 2 || v[1] != on {
		t.Errorf("sent on %v, want it again on path %d, the only one that was heard", v, on)
	}
	s.pin.on = 1
	if p := s.c.choice.choose(s.now); p.slot != on {
		t.Errorf("path %d carries data before it has answered", p.slot)
	}
	q := s.questions(2)
	if s.ack(got(2, q[len(q)-1].pn)); s.c.choice.choose(s.now).slot != 2 {
		t.Errorf("path %d, and not the near one that has answered", s.c.choice.choose(s.now).slot)
	}
	s.wantSound(t)
}
