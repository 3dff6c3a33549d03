package cc

import (
	"math/rand/v2"
	"testing"
	"time"
)

// shaken lets rounds pass in which packets are late at random, normally distributed
// with the least three deviations below the mean, beside a queue.
func (n *network) shaken(rng *rand.Rand, rounds int, deviation, queue time.Duration) {
	for range rounds {
		n.round(true, func(float64) time.Duration {
			return max(0, queue+3*deviation+time.Duration(rng.NormFloat64()*float64(deviation)))
		})
	}
}

// A delay that is there whatever is sent is no reason to send less, when it is
// random; when it stands still, it is a queue.
func TestJitterIsNoQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n := newNetwork()
	n.shaken(rng, 200, 20*time.Millisecond, 0)
	if w := n.Window(); w < InitialWindow/2 {
		t.Errorf("window %d under jitter", w)
	}
	if a := n.jitter.allowance(); a < 20*time.Millisecond || a > jitterMost {
		t.Errorf("allowance %v", a)
	}
	n = newNetwork()
	n.rounds(200, true, 75*time.Millisecond)
	if w := n.Window(); w != MinWindow {
		t.Errorf("window %d with a queue of 75 ms", w)
	}
	if a := n.jitter.allowance(); a > TargetFloor {
		t.Errorf("allowance %v for a queue that stands still", a)
	}
}

// Where the queue is some milliseconds, as on a fabric, nothing is allowed for.
func TestFabricHasNoJitter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := newNetwork()
	for range 200 {
		n.round(true, func(float64) time.Duration { return time.Duration(rng.Int64N(int64(TargetFloor))) })
	}
	if a := n.jitter.allowance(); a != 0 || n.Target() != TargetFloor {
		t.Errorf("allowance %v, target %v", a, n.Target())
	}
}
