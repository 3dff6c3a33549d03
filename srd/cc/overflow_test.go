package cc

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
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

// One overflow is answered once: what was under way when the window was cut tells
// nothing new.
func TestOverflowIsAnsweredOnce(t *testing.T) {
	var o overflow
	if share := o.lost(200, 20, true); share != 0.1 {
		t.Fatalf("a tenth was lost, and %v is congestion", share)
	}
	const srtt = 40 * time.Millisecond
	now := mono.Time(time.Hour)
	if w := o.cut(now, 1e6, srtt); w != 1e6 || o.ceiling() != 1e6 || o.answered != now.Add(srtt) {
		t.Errorf("window %v, ceiling %v, answered until %v", w, o.ceiling(), o.answered)
	}
}

// The bound grows while it is met, faster the longer nothing runs over, and is forgotten in the end.
func TestBoundGrows(t *testing.T) {
	rounds := func(to float64) (n int) {
		o := overflow{bound: 1e6}
		for ; o.bound != 0 && o.bound < to; n++ {
			o.probe(o.bound)
		}
		return n
	}
	first := rounds(1.1e6)
	if n := first; n < 5 || n > 15 {
		t.Errorf("%d rounds to a tenth more", n)
	}
	if second := rounds(1.2e6) - first; second >= first {
		t.Errorf("%d rounds to a tenth more, %d to the next", first, second)
	}
	if n := rounds(2 * MaxWindow); n > 200 {
		t.Errorf("after %d rounds there is a bound", n)
	}
	o := overflow{bound: 1e6}
	if o.probe(9e5); o.bound != 1e6 {
		t.Errorf("bound %v after a round that did not meet it", o.bound)
	}
}

// What is lost beside a queue is not what is lost by chance, however long it goes on: who takes it for
// that sends ever more, until nearly all is lost.
func TestOverflowIsNotLearnt(t *testing.T) {
	var o overflow
	for range 1000 {
		o.lost(overflowPackets, overflowPackets/2, true)
	}
	if o.usual != 0 {
		t.Errorf("after half of everything was lost beside a queue %v are usual", o.usual)
	}
	for range 1000 {
		o.lost(overflowPackets, overflowPackets/2, false)
	}
	if o.usual > lossTolerated {
		t.Errorf("%v are usual, want %v at most", o.usual, lossTolerated)
	}
}
