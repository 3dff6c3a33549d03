package cc

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// A competitor's queue does not change from one packet to the next, so it does not count as
// jitter.
func TestStandingQueueIsNoJitter(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: make test runs it")
	}
	n := newNetwork()
	n.rounds(200, true, 75*time.Millisecond)
	if a := n.allowance(); a != 0 {
		t.Errorf("allowance %v for a queue that stands still", a)
	}
}

// The value of scatter is the root mean square of the distances. Rounds in which the window
// was not full do not count. Rounds with few samples count only when there are enough
// samples together.
func TestScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s scatter
	for round := range 400 {
		for range 5 {
			if round%8 == 7 {
				s.add(time.Second)
				continue
			}
			s.add(time.Duration(rng.NormFloat64() * 5e6).Abs())
		}
		s.endRound(round%8 != 7)
		if s.known() != (round >= 3) {
			t.Fatalf("after %d samples: known %v", 5*(round+1), s.known())
		}
	}
	if s.value < 4*time.Millisecond || s.value > 6*time.Millisecond {
		t.Errorf("scatter %v, want 5 ms", s.value)
	}
}

// With a queue of some milliseconds and a short round trip, as in a data centre, the
// allowance is zero.
func TestFabricHasNoJitter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork()
	for range 200 {
		n.round(true, func(float64) time.Duration { return time.Duration(rng.Int64N(int64(2 * TargetFloor))) })
	}
	if a := n.allowance(); a != 0 || n.Target() != TargetFloor {
		t.Errorf("allowance %v, target %v", a, n.Target())
	}
}

// Different queues on different paths do not count as jitter.
func TestUnlikeQueuesAreNoJitter(t *testing.T) {
	n := newNetwork()
	var paths [2]rtt.Estimator
	for i := range 20_000 {
		n.now += 1e6
		trip, p := base+time.Duration(i%2)*60*time.Millisecond, &paths[i%2]
		stray := p.Residual(n.now, trip)
		p.Add(n.now, trip, 0)
		n.Ack(n.now, Ack{Bytes: MSS, RTT: trip, Base: base, Empty: base, Residual: stray}, true)
	}
	if a := n.allowance(); a != 0 {
		t.Errorf("allowance %v", a)
	}
}

// On one of many paths over radio links, a round trip of almost zero occurs once by chance,
// and remains the base of the path for a while. The allowance for the other paths does not
// change.
func TestLuckyPathMakesNoFabric(t *testing.T) {
	const paths, mean, sigma = 63, 40e6, 20e6
	rng := rand.New(rand.NewPCG(5, 6))
	c, now := New(0), mono.Time(1e9)
	var path [paths]rtt.Estimator
	for i := range 40_000 {
		now += 1e6
		least := 20 * time.Millisecond
		if i%paths == 0 {
			least = 300 * time.Microsecond
		}
		trip := max(least, time.Duration(mean+sigma*rng.NormFloat64()))
		stray := path[i%paths].Residual(now, trip)
		path[i%paths].Add(now, trip, 0)
		c.Ack(now, Ack{Bytes: MSS, RTT: trip, Base: least, Empty: least, Residual: stray}, true)
	}
	if c.Target() < TargetCeiling {
		t.Errorf("target %v where round trips are 40 ms", c.Target())
	}
	if c.Window() <= InitialWindow {
		t.Errorf("window %d, of jitter alone", c.Window())
	}
}
