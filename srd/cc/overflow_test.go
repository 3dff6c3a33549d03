package cc

import (
	"testing"
	"time"
)

// Where a buffer is shorter than the queue that is aimed for, it is not filled until a
// tenth of everything is lost, and the link is used all the same.
func TestShallowBufferSeldomRunsOver(t *testing.T) {
	for _, c := range []struct {
		mbit   float64
		base   time.Duration
		buffer int
	}{
		{300, 16 * time.Millisecond, 256 << 10},
		{100, 40 * time.Millisecond, 256 << 10},
		{50, 140 * time.Millisecond, 256 << 10},
		{50, 240 * time.Millisecond, 256 << 10},
	} {
		b := newBottleneck(bottleneck{rate: c.mbit * mbit, base: c.base, buffer: c.buffer})
		b.run(5 * time.Second)
		if goodput, lost := b.run(30 * time.Second); goodput < 0.93 || lost > 0.01 {
			t.Errorf("%v Mbit/s, %v, %d bytes: goodput %.3f, %.4f lost", c.mbit, c.base, c.buffer, goodput, lost)
		}
	}
}

// What is lost by chance, with jitter or without, is not taken for a buffer that ran
// over.
func TestLossByChanceIsNoOverflow(t *testing.T) {
	for _, loss := range []float64{0.005, 0.02, 0.05} {
		for _, deviation := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
			b := newBottleneck(bottleneck{rate: 50 * mbit, base: 40 * time.Millisecond, buffer: 256 << 10, deviation: deviation, loss: loss})
			b.run(5 * time.Second)
			if goodput, lost := b.run(30 * time.Second); goodput < 0.7 || lost > loss+0.01 {
				t.Errorf("%v lost by chance, deviation %v: goodput %.3f, %.4f lost", loss, deviation, goodput, lost)
			}
		}
	}
}

// What is lost beside a queue is an overflow if that is clearly more than is lost by chance. Below the window
// that overran something only heavy loss is one, and only of many packets.
func TestLossesThatOverran(t *testing.T) {
	for _, c := range []struct {
		losses
		want float64
	}{
		{losses{packets: 50, lost: 1, first: intervalMost, most: 1, queued: true}, 1. / 50},
		{losses{packets: 50, lost: 1, first: 1000, most: 1, queued: true}, 0},
		{losses{packets: 50, lost: 1, first: 1000, queued: true}, 1. / 50},
		{losses{packets: 50, lost: 4, first: 1000, most: 1, queued: true}, 4. / 50},
		{losses{packets: 50, lost: 4, first: 1000, most: 1, queued: true, blind: true}, 0},
		{losses{packets: 50, first: intervalMost, queued: true}, 0},
		{losses{packets: 200, lost: 4, first: 50, most: 1, queued: true}, 0},
		{losses{packets: 200, lost: 40, first: 50, most: 1, queued: true}, 0.2},
		{losses{packets: 10, lost: 5, first: 50, most: 1, below: true}, 0},
		{losses{packets: 100, lost: 5, first: 50, most: 1, below: true}, 0},
		{losses{packets: 100, lost: 20, first: 50, most: 1, below: true}, 0.2},
	} {
		var o overflow
		if got := o.lost(c.losses); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Without a queue, what is lost by chance is what is lost below the window that overran something. As much
// beyond it is chance, and much more is not: there is a policer, or a buffer too short to be seen.
func TestLossesThatGrowWithTheWindow(t *testing.T) {
	for _, chance := range []float64{0, 1, 10} { // of each thousand packets
		below := losses{packets: 1000, lost: chance, below: true}
		beyond := losses{packets: 1000, lost: 1.2 * chance}
		var o overflow
		for range 20 {
			if o.lost(below) != 0 || o.lost(beyond) != 0 {
				t.Fatalf("%v of 1000 packets are lost by chance, and taken for an overflow", chance)
			}
		}
		rounds, share := 0, 0.0
		for ; share == 0 && rounds < 100; rounds++ {
			share = o.lost(losses{packets: 1000, lost: 3*chance + 5})
		}
		if share == 0 || rounds > 10 {
			t.Errorf("%v of 1000 packets are lost by chance, and %v are no overflow in %d rounds", chance, 3*chance+5, rounds)
		}
		if got := o.lost(losses{packets: 1000, lost: chance}); got != 0 {
			t.Errorf("what was answered is answered again: %v", got)
		}
	}
}

// Beyond the window that overran something nothing is taken for an overflow before it is known what is lost below it.
func TestNothingIsMuchBeforeChanceIsKnown(t *testing.T) {
	var o overflow
	for range 20 {
		if share := o.lost(losses{packets: 30, lost: 2, first: 50}); share != 0 {
			t.Fatalf("a share of %v is an overflow", share)
		}
	}
}

// What little is beyond what may be lost without a queue is no overflow of the queue that comes after, which lost
// nothing.
func TestQueueWithoutLossIsNoOverflow(t *testing.T) {
	var o overflow
	o.lost(losses{packets: 100, below: true})
	for range 3 {
		o.lost(losses{packets: 50, lost: 1, first: intervalMost, most: 0.001})
	}
	for range 3 {
		if share := o.lost(losses{packets: 200, queued: true, first: intervalMost, most: 0.001}); share != 0 {
			t.Fatalf("a share of %v is an overflow, and nothing is lost", share)
		}
	}
}

// Chance is known from the last losses, and what was taken for it before is forgotten as they come.
func TestChanceIsLearnt(t *testing.T) {
	var c chance
	if got := c.share(50); got != 1./50 {
		t.Errorf("%v before anything is known", got)
	}
	for range 100 {
		c.learn(300, 3)
	}
	if got := c.share(1 << 20); got < 0.008 || got > 0.0105 {
		t.Errorf("one of 100 packets is lost, and it says %v", got)
	}
	if c.learn(100_000, 0); c.share(50) > 1./5000 || c.most() < c.share(50) {
		t.Errorf("none of 100,000 packets is lost, and it says %v, or %v if the next one is", c.share(50), c.most())
	}
}

// However much is lost at once, half of what was in flight is left; and half of the window if that did not hold
// sending back, and little of it was in use.
func TestHeavyLossLeavesHalf(t *testing.T) {
	for _, share := range []float64{0.2, 0.5, 0.85} {
		n := steady()
		n.rounds(20, true, 0)
		before := n.Window()
		n.lossy(1, share, 0)
		if w := n.Window(); w < before*49/100 || w > before*9/10 {
			t.Errorf("window went from %d to %d when %v was lost", before, w, share)
		}
		n = steady()
		n.rounds(20, true, 0)
		before = n.Window()
		n.over.queued = false
		n.shrink(n.now, &round{acked: 4 * MSS, lost: MSS, came: 4 * MSS, flight: 4 * MSS}, share)
		if w := n.Window(); w < before*49/100 {
			t.Errorf("window went from %d to %d when %v of four packets was lost", before, w, share)
		}
	}
}
