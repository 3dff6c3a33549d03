package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// A fabric as its own hosts see it: they act within a microsecond, and a packet comes back
// after twelve.
const (
	fabricGrain = time.Microsecond
	fabricTrip  = 12 * time.Microsecond
)

// short is a controller that aims for a queue of a round trip of the fabric.
type short struct{ *fixed }

func (short) Target() time.Duration { return fabricTrip }

// newFabricScript returns a Conn with n paths over a fabric.
func newFabricScript(t testing.TB, n int) *script {
	s := newScript(t, n)
	s.c.slack, s.c.cfg.Control = slackOf(fabricGrain), short{s.fixed}
	s.lengthen(fabricTrip)
	return s
}

// tell lets an acknowledgement of everything in flight on these paths arrive now, and
// returns what was sent because of it.
func (s *script) tell(on ...int) []sent {
	var records []wire.Record
	for _, slot := range on {
		l := &s.c.paths.table[slot].sent
		var pns []uint64
		for pn := l.First(); pn < l.Next(); pn++ {
			pns = append(pns, pn)
		}
		if len(pns) > 0 {
			records = append(records, got(uint16(slot), pns...))
		}
	}
	from := len(s.sent)
	s.arrive(0, 100, wire.AppendAck(nil, 0, 0, records, nil))
	s.pump()
	return s.sent[from:]
}

// silence sends two messages on path 1 that nobody hears of, and others on path 2, with as
// many more behind them as left. It returns the two, when path 1 is suspected.
func (s *script) silence(left int) (numbers []uint32) {
	s.t.Helper()
	for _, p := range s.send(2, 1) {
		numbers = append(numbers, p.numbers()...)
	}
	s.wait(fabricGrain)
	s.send(6, 2)
	s.fixed.window, s.left = s.c.recovery.inflight, left
	for range 10 {
		s.wait(fabricTrip)
		s.tell(0, 2)
		if s.c.paths.table[1].state == PathSuspect {
			return numbers
		}
	}
	s.t.Fatal("the path is not suspected")
	return nil
}

// again returns which of numbers were sent since the first from packets, and how many
// challenges went on path 1.
func (s *script) again(from int, numbers []uint32) (v []uint32, challenges int) {
	for _, p := range s.sent[from:] {
		for _, n := range p.numbers() {
			if slices.Contains(numbers, n) {
				v = append(v, n)
			}
		}
		if p.slot == 1 && p.has(wire.KindChallenge) {
			challenges++
		}
	}
	return v, challenges
}

// As long as there is something new to send, what a silent path holds is sent again only
// when its respite is over, and ahead of all else then; nor is the path probed before.
func TestScriptRespiteWhileBusy(t *testing.T) {
	s := newFabricScript(t, 3)
	numbers := s.silence(1000)
	end := s.c.recovery.out.respites.end()
	if d := end.Sub(s.now); d < 6*fabricTrip || d > 12*fabricTrip {
		t.Errorf("a respite of %v", d)
	}
	from := len(s.sent)
	for s.now.Add(fabricTrip) < end {
		s.wait(fabricTrip)
		if len(s.tell(0, 2)) == 0 {
			t.Fatal("nothing new is sent")
		}
		s.wantSound(t)
	}
	if v, challenges := s.again(from, numbers); len(v) != 0 || challenges != 0 {
		t.Errorf("%v sent again and %d challenges before the respite is over", v, challenges)
	}
	s.mute = true
	from = len(s.sent)
	s.wait(fabricTrip)
	s.tell(0, 2)
	if n := s.resent(from, 1); len(n) < 2 || !slices.Equal(n[:2], numbers) {
		t.Errorf("after the respite %v are sent, want %v first", n, numbers)
	}
	if _, challenges := s.again(0, nil); challenges != 1 {
		t.Errorf("%d challenges on the path that fell silent, want one", challenges)
	}
	s.wantSound(t)
}

// With nothing new to send there is nothing to wait for.
func TestScriptRespiteEndsWhenIdle(t *testing.T) {
	s := newFabricScript(t, 3)
	numbers := s.silence(1000)
	from := len(s.sent)
	s.left = 0
	s.tell(0, 2)
	if v, _ := s.again(from, numbers); !slices.Equal(v, numbers) {
		t.Errorf("%v are sent again, want %v", v, numbers)
	}
	s.wantSound(t)
}

// An acknowledgement within the respite saves the repair, and the path is used again.
func TestScriptRespiteSavesRepairs(t *testing.T) {
	s := newFabricScript(t, 3)
	numbers := s.silence(1000)
	from := len(s.sent)
	s.wait(fabricTrip)
	s.tell(0, 1, 2)
	for range 20 {
		s.wait(fabricTrip)
		s.tell(0, 1, 2)
	}
	if v, _ := s.again(from, numbers); len(v) != 0 {
		t.Errorf("%v sent again", v)
	}
	if p := s.c.paths.table[1]; p.state != PathActive || s.c.recovery.out.respites.len() != 0 {
		t.Errorf("the path is %v, %d messages have a respite", p.state, s.c.recovery.out.respites.len())
	}
	s.wantSound(t)
}

// Where two processes take longer than queues, or a round trip a millisecond, there is no
// respite.
func TestScriptNoRespiteElsewhere(t *testing.T) {
	for name, spoil := range map[string]func(s *script){
		"processes": func(s *script) { s.c.slack = slackOf(0) },
		"far":       func(s *script) { s.lengthen(longBase) },
		"":          func(*script) {},
	} {
		s := newFabricScript(t, 2)
		spoil(s)
		if got := s.c.recovery.respite(s.now, s.c.paths.table[1]) != 0; got != (name == "") {
			t.Errorf("%q: respite %v", name, got)
		}
	}
}

// A message whose path is waited for shorter than that of the one before does not want to be
// looked at in the past when that one was sent early (seed 1329 had it so).
func TestRespitesEndInTurn(t *testing.T) {
	var r respites
	r.push(1, 100)
	r.push(2, 50)
	if n := r.pop(); n != 1 {
		t.Fatalf("message %d before the first", n)
	}
	if end := r.end(); end != 100 {
		t.Errorf("the second's respite ends at %d, want 100", end)
	}
}
