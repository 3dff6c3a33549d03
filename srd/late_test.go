package srd

import (
	"testing"
	"time"
)

// A train of which nothing has arrived is sent again elsewhere when it is late, once, if
// its path has lost something lately and something sent later has arrived. It is not taken
// for lost by that. That a path fell silent, and then answered a challenge but nothing
// sent before, shows a loss as well.
func TestScriptLateTrainOfALossyPath(t *testing.T) {
	for _, how := range []string{"", "gap", "silence"} {
		lossy := how != ""
		s := newScript(t, 3)
		switch how {
		case "gap":
			v := s.send(3, 1)
			s.ack(got(1, v[1].pn, v[2].pn))
		case "silence":
			s.mute = true
			s.send(1, 1)
			s.wait(time.Millisecond)
			s.ack(got(2, s.send(1, 2)[0].pn))
			s.wait(s.c.paths.table[1].timeout(&s.c.slack, s.c.recovery.patience, &s.c.rtt))
			if p := s.c.paths.table[1]; p.state != PathSuspect {
				t.Fatalf("the path is %v", p.state)
			}
			s.ackAll(s.c.recovery.out.next, nil) // its repair
			s.mute = false
			for range 3 * probeFirst / time.Millisecond {
				s.wait(time.Millisecond)
			}
		}
		v := s.send(2, 1)
		p := s.c.paths.table[1]
		lost, from := p.stats.Lost, 0
		again := func(when string, want int) {
			t.Helper()
			if n := len(s.resent(from, 1)); n != want {
				t.Errorf("%q, %s: %d messages sent again, want %d", how, when, n, want)
			}
			from = len(s.sent)
		}
		late := p.usual(&s.c.slack)
		s.wait(time.Millisecond)
		after := s.send(1, 2)
		from = len(s.sent)
		s.wait(late)
		again("nothing sent later has arrived", 0)
		s.ack(got(2, after[0].pn))
		s.wait(0)
		want := 0
		if lossy {
			want = 2
		}
		again("something sent later has", want)
		s.wait(time.Millisecond)
		again("later", 0)
		s.ack(got(1, v[0].pn, v[1].pn))
		if p.stats.Lost != lost || p.stats.Spurious != 0 || p.state != PathActive {
			t.Errorf("%q: %d packets lost, %d of them wrongly, path %v", how, p.stats.Lost-lost, p.stats.Spurious, p.state)
		}
		s.wantSound(t)
	}
}
