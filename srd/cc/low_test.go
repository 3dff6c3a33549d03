package cc

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// spotted plays rounds of a sprayed flow: a share of the bytes meets no queue, the rest four targets.
func spotted(c *SRD, clear float64) (before, after int) {
	now := mono.Time(1)
	c.slowStart = false
	before = c.Window()
	for range 6 {
		n := max(1, c.Window()/MSS)
		for i := range n {
			queue := time.Duration(float64(4*fineBase) * c.window / float64(before))
			if float64(i) < clear*float64(n) {
				queue = 0
			}
			now = now.Add((fineBase + queue) / time.Duration(n))
			c.Ack(now, Ack{Bytes: MSS, RTT: fineBase + queue, Base: fineBase, Empty: fineBase}, true)
		}
	}
	return before, c.Window()
}

// Some paths with long queues are the path policy's business as long as others are
// clear. A queue that all paths share, and one where no line is known, is not.
func TestCollisionsDoNotShrinkTheWindow(t *testing.T) {
	if before, after := spotted(fine(lineRate), 0.2); after < before {
		t.Errorf("window from %d to %d, a fifth of the bytes met no queue", before, after)
	}
	if before, after := spotted(fine(lineRate), 0.02); after > before/2 {
		t.Errorf("window from %d to %d, nearly all bytes met a queue", before, after)
	}
	if before, after := spotted(fine(0), 0.2); after > before/2 {
		t.Errorf("window from %d to %d without a line", before, after)
	}
}

// low agrees with what sorting says, to a step.
func TestLowIsAQuantile(t *testing.T) {
	const target = 16 * time.Microsecond
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var d delays
		var all []time.Duration
		for range 1 + rng.IntN(300) {
			q := time.Duration(rng.ExpFloat64() * float64(target))
			all = append(all, q)
			d.add(q, target, 1)
		}
		slices.Sort(all)
		want := min(all[int(lowShare*float64(len(all)))], lowTargets*target-1)
		if got := d.low(target, len(all)); got > want || got < want-target/lowSteps {
			t.Fatalf("%v of %d samples, want %v", got, len(all), want)
		}
	}
}
