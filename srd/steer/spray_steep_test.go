package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// picked returns how many of 10,000 picks fall on the one path of sixteen whose
// queue is longer than that of the others by over.
func picked(granularity, target, over time.Duration) (n int) {
	s, usable, now := newSpray(1, granularity), setOf(16), mono.Time(1)
	for p := range 16 {
		s.Sample(now, p, Sample{RTT: target})
	}
	s.paths[5].queue = over
	for range 10_000 {
		if s.Pick(now, usable, Context{Target: target}) == 5 {
			n++
		}
	}
	return n
}

// A queue longer by a fifth of the target, or by two granules if that is more,
// halves a path's turns; one longer by several targets leaves enough of them to
// hear when it is gone.
func TestLongQueueLosesTurns(t *testing.T) {
	const even = 10_000 / 16
	for _, x := range []struct {
		granularity, target, over time.Duration
		least, most               int
	}{
		{time.Microsecond, 15 * time.Microsecond, 3 * time.Microsecond, even * 2 / 5, even * 3 / 5},
		{time.Microsecond, 5 * time.Microsecond, 2 * time.Microsecond, even * 2 / 5, even * 3 / 5},
		{time.Millisecond, 4 * time.Millisecond, 2 * time.Millisecond, even * 2 / 5, even * 3 / 5},
		{time.Microsecond, 15 * time.Microsecond, 150 * time.Microsecond, 1, even / 20},
	} {
		if n := picked(x.granularity, x.target, x.over); n < x.least || n > x.most {
			t.Errorf("%d turns of %d with a queue %v longer at a target of %v, want %d to %d", n, even, x.over, x.target, x.least, x.most)
		}
	}
}

// One sample of a queue far above all others takes most of a path's turns for good, as
// somebody fills that link; a queue that a collision leaves does not. Clean samples give
// the turns back, one by one.
func TestSteepQueueIsRemembered(t *testing.T) {
	const rtt = 10 * time.Microsecond
	s, now := newSpray(1, time.Microsecond), mono.Time(1)
	round := func(five, six time.Duration) {
		now = now.Add(mostSpan * rtt)
		for p := range 16 {
			q := time.Microsecond
			switch p {
			case 5:
				q = five
			case 6:
				q = six
			}
			s.Sample(now, p, Sample{Queue: q, RTT: rtt})
		}
	}
	for range 20 {
		round(time.Microsecond, time.Microsecond)
	}
	round(8*rtt, rtt/2)
	if w := s.Weight(5); w > 0.1 {
		t.Errorf("weight %.2f after a queue of %v", w, 8*rtt)
	}
	if w := s.Weight(6); w < 0.5 {
		t.Errorf("weight %.2f after a queue of %v", w, rtt/2)
	}
	round(0, 0)
	if w := s.Weight(5); w > 0.2 {
		t.Errorf("weight %.2f after one clean sample", w)
	}
	for range 60 {
		round(0, time.Microsecond)
	}
	if w := s.Weight(5); w < 0.9 {
		t.Errorf("weight %.2f long after the queue has gone", w)
	}
}
