package cc

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of jitter.
const (
	// jitterWindow is for how long a least delay counts, once or twice; the queue is
	// emptied more often than that (drainEvery).
	jitterWindow = 10 * time.Second
	// jitterPart is the weight of a new sample in mean and spread, 1/256; those before
	// weigh the same.
	jitterPart = 256
	// jitterFirst samples it takes until they mean something.
	jitterFirst = 64
	// spreads is how many mean deviations lie between the mean and the least of
	// thousands of samples: of a normal distribution it is 4.4.
	spreads = 4
	// jitterLeast is what a queue that is steered to TargetFloor may explain: twice
	// that, as it is when packets take milliseconds each.
	jitterLeast = 2 * TargetFloor
	// jitterMost bounds the allowance: radio links whose delay varies by more in
	// either direction hardly carry TCP.
	jitterMost = 100 * time.Millisecond
)

// jitter tells the delay that a network adds at random from a queue. On radio links
// the mean round trip is far above the least one even when nothing waits, and a
// controller that takes the difference for a queue shrinks its window without end.
//
// Jitter is there when the queue is empty, too. So no more is allowed for than the
// least that the smoothed delay was in the last 10 to 20 s, in which the queue was
// emptied at least once. The queue of others is there then as well; but a queue
// stands still from one packet to the next, and jitter does not. So no more is
// allowed for than the samples differ by. And what is less than the ceiling of the
// target is not worth it: fabrics never get here.
type jitter struct {
	samples int              // up to jitterPart
	mean    time.Duration    // of the delay
	spread  time.Duration    // mean deviation from that
	least   [2]time.Duration // of the mean, in the last window and in this one
	from    mono.Time        // when this one began
}

// add takes a sample of the delay.
func (j *jitter) add(now mono.Time, sample time.Duration) {
	j.samples = min(j.samples+1, jitterPart)
	part := time.Duration(j.samples)
	j.mean += (sample - j.mean) / part
	j.spread += ((sample - j.mean).Abs() - j.spread) / part
	switch {
	case j.samples < jitterPart:
		j.least, j.from = [2]time.Duration{j.mean, j.mean}, now
	case now.Sub(j.from) > jitterWindow:
		j.least[0], j.least[1], j.from = j.least[1], j.mean, now
	default:
		j.least[1] = min(j.least[1], j.mean)
	}
}

// allowance returns by how much jitter lengthens the mean round trip, as far as it
// matters.
func (j *jitter) allowance() time.Duration {
	if j.samples < jitterFirst {
		return 0
	}
	floor := min(j.least[0], j.least[1])
	return max(0, min(floor, spreads*j.spread, jitterMost)-jitterLeast)
}
