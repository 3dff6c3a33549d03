package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
)

// The first train of a connection fills a slow link for many round trips. As long as there
// are few samples of the round trip, the tail of a train is not declared lost half a round
// trip after its beginning was acknowledged. With many samples it is.
func TestScriptTailOfTheFirstTrain(t *testing.T) {
	const roundTrip = 12 * time.Millisecond
	for _, samples := range []int{1, 40} {
		s := newScript(t, 3)
		p := s.c.paths.table[1]
		p.rtt, s.c.env.rtt = rtt.Estimator{}, rtt.Mean{}
		for range samples {
			p.rtt.Add(s.now, roundTrip, 0)
			s.c.env.rtt.Add(roundTrip)
		}
		v := s.sendTrain(4, 1)
		s.ack(got(1, v[0].pn, v[1].pn))
		s.wait(roundTrip / 2)
		if lost := p.stats.Lost != 0; lost != s.c.env.rtt.Settled() {
			t.Errorf("%d round trips measured, %d packets lost after half of one", samples, p.stats.Lost)
		}
		s.wantSound(t)
	}
}
