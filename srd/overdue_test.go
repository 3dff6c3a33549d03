package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
)

// lengthen makes every path of the script one of base round trips.
func (s *script) lengthen(base time.Duration) {
	all := []*rtt.Estimator{&s.c.rtt}
	for _, p := range s.c.paths.table {
		all = append(all, &p.rtt)
	}
	for _, e := range all {
		*e = rtt.Estimator{}
		for range 50 {
			e.Add(s.now, base)
		}
	}
}

// On a long path on which packets keep being acknowledged, what is overdue is lost, and
// nothing else: the path has not fallen silent.
func TestScriptOverdueOnPathThatTalks(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	first := s.send(1, 1)
	s.wait(4 * time.Millisecond)
	second := s.send(1, 1)
	s.wait(16 * time.Millisecond)
	s.send(1, 1)
	s.wait(24 * time.Millisecond)
	s.ack(got(1, second[0].pn))
	s.wantLost(1)
	s.wait(8 * time.Millisecond)
	s.wantLost(1, first[0].pn)
	if p := s.c.paths.table[1]; p.state != PathActive {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// One that is not heard any more while another one is has fallen silent, however long it
// is, and all that is in flight on it is handed back. A queue that began a round trip ago
// is no silence.
func TestScriptLongPathFallsSilent(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	v := s.send(2, 1)
	s.wait(4 * time.Millisecond)
	other := s.send(1, 0)
	s.wait(42 * time.Millisecond)
	s.ack(got(0, other[0].pn))
	s.wait(3 * time.Millisecond)
	s.wantLost(1)
	s.wait(4 * time.Millisecond)
	s.wantLost(1, v[0].pn, v[1].pn)
	if p := s.c.paths.table[1]; p.state != PathSuspect {
		t.Errorf("the path is %v", p.state)
	}
	s.wantSound(t)
}

// What is overdue on a path that is heard makes it one that loses packets. What else is
// late on it is then sent again at once, not when somebody happens to look next.
func TestScriptOverdueMakesAPathLossy(t *testing.T) {
	s := newScript(t, 2)
	s.lengthen(40 * time.Millisecond)
	p := s.c.paths.table[1]
	first := s.send(1, 1)
	s.wait(2 * time.Millisecond)
	second := s.send(1, 1)
	s.wait(2 * time.Millisecond)
	late := s.send(1, 1)
	s.wait(2 * time.Millisecond)
	other := s.send(1, 0)
	s.wait(39 * time.Millisecond)
	s.ack(got(1, second[0].pn), got(0, other[0].pn))
	due := first[0].at.Add(p.timeout(&s.c.slack, 0, &s.c.rtt))
	if t0 := late[0].at.Add(p.usual(&s.c.slack)); t0 >= due {
		t.Fatalf("late at %v, the one before overdue at %v: nothing was tested", t0, due)
	}
	from := len(s.sent)
	s.now = due
	s.c.Advance(s.now)
	s.pump()
	if at, why := s.c.Deadline(); at < s.now {
		t.Errorf("wants to be woken %v ago: %s", s.now.Sub(at), why)
	}
	s.wantLost(1, first[0].pn)
	if n, want := s.resent(from, 1), append(first[0].numbers(), late[0].numbers()...); !slices.Equal(n, want) {
		t.Errorf("sent again: %v, want %v", n, want)
	}
	s.wantSound(t)
}
