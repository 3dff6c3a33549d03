package srd

import (
	"testing"
	"time"
)

// A train of which nothing has arrived is sent again elsewhere when it is late, once, if
// its path has lost something lately and something sent later has arrived. It is not taken
// for lost by that.
func TestScriptLateTrainOfALossyPath(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		s := newScript(t, 3)
		if lossy {
			v := s.send(3, 1)
			s.ack(got(1, v[1].pn, v[2].pn))
		}
		v := s.send(2, 1)
		p := s.c.paths[1]
		lost, from := p.stats.Lost, 0
		again := func(when string, want int) {
			t.Helper()
			if n := len(s.resent(from, 1)); n != want {
				t.Errorf("lossy %v, %s: %d messages sent again, want %d", lossy, when, n, want)
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
			t.Errorf("lossy %v: %d packets lost, %d of them wrongly, path %v", lossy, p.stats.Lost-lost, p.stats.Spurious, p.state)
		}
		s.wantSound(t)
	}
}
