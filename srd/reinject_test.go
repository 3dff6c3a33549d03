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
	s.c.slack.pto = 1
	p, target := s.c.paths[0], s.c.cfg.Control.Target()
	for _, x := range []struct{ base, want time.Duration }{
		{100 * time.Microsecond, target * 2 / 3}, {20 * time.Millisecond, target},
	} {
		p.rtt = rtt.Estimator{}
		p.rtt.Add(s.now, x.base)
		if got := s.c.lateness(p) - x.base - s.c.cfg.Control.Queue() - s.c.slack.ackMost; got != x.want {
			t.Errorf("base %v: late after %v more, want %v", x.base, got, x.want)
		}
	}
}

// A path that had a long queue and was little used since is no reason for a copy: its last
// round trip tells that the queue has gone, though the smoothed one is still long. While
// the last one is long, there is one copy at once, and that is not copied again.
func TestScriptOutrunGoesByTheLastRoundTrip(t *testing.T) {
	const long = 40 * fabricTrip
	for _, x := range []struct {
		last   time.Duration
		copies uint64
	}{{fabricTrip, 0}, {long, 1}} {
		s := newFabricScript(t, 3)
		for _, p := range s.c.paths {
			for range 20 {
				p.rtt.Add(s.now, long)
			}
			p.rtt.Add(s.now, x.last)
		}
		s.pin.on, s.left = 0, 1
		s.pump()
		s.wait(fabricTrip / 2)
		if n := s.c.stats.Retransmitted; n != x.copies {
			t.Errorf("last round trip %v: %d copies, want %d", x.last, n, x.copies)
		}
		s.wantSound(t)
	}
}
