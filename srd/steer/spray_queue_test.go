package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// picked returns how many of 10,000 picks choose one of sixteen paths, whose queue is
// longer than those of the others by `over`.
func picked(granularity, trip, over time.Duration) (n int) {
	s, usable, now := newSpray(1, granularity), setOf(16), mono.Time(1)
	for p := range 16 {
		s.Sample(now, p, Sample{RTT: trip})
	}
	s.paths[5].queue = over
	for range 10_000 {
		if s.Pick(now, usable, Context{}) == 5 {
			n++
		}
	}
	return n
}

// A queue that is longer by a quarter of a round trip, or by two granules if that is more,
// halves a path's turns. With a queue of several round trips, the path keeps enough turns
// for samples that show when the queue has drained.
func TestLongQueueLosesTurns(t *testing.T) {
	const even = 10_000 / 16
	for _, x := range []struct {
		granularity, trip, over time.Duration
		least, most             int
	}{
		{time.Microsecond, 12 * time.Microsecond, 3 * time.Microsecond, even * 2 / 5, even * 3 / 5},
		{time.Microsecond, 5 * time.Microsecond, 2 * time.Microsecond, even * 2 / 5, even * 3 / 5},
		{time.Millisecond, 4 * time.Millisecond, 2 * time.Millisecond, even * 2 / 5, even * 3 / 5},
		{time.Microsecond, 15 * time.Microsecond, 150 * time.Microsecond, 1, even / 20},
	} {
		if n := picked(x.granularity, x.trip, x.over); n < x.least || n > x.most {
			t.Errorf("%d turns of %d with a queue %v longer at a round trip of %v, want %d to %d", n, even, x.over, x.trip, x.least, x.most)
		}
	}
}
