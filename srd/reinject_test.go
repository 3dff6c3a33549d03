package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
)

// What is waited for before a copy is made is two thirds of a target where only queues make
// round trips differ, and a whole one where it may be radio.
func TestScriptLatenessByLength(t *testing.T) {
	s := newScript(t, 2)
	s.c.slack.pto, s.c.slack.queues = 1, 1
	p, target := s.c.paths.table[0], s.c.cfg.Control.Target()
	for _, x := range []struct{ base, want time.Duration }{
		{100 * time.Microsecond, target * 2 / 3}, {20 * time.Millisecond, target},
	} {
		p.rtt = rtt.Estimator{}
		p.rtt.Add(s.now, x.base)
		if got := s.c.recovery.lateness(p) - x.base - s.c.cfg.Control.Queue() - s.c.slack.ackMost; got != x.want {
			t.Errorf("base %v: late after %v more, want %v", x.base, got, x.want)
		}
	}
}
