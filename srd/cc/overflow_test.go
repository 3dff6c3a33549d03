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

// No more than lossTolerated is taken to be lost by chance, however long it goes on.
func TestChanceIsBounded(t *testing.T) {
	var o overflow
	for range 1000 {
		o.measure(overflowPackets, overflowPackets/2)
	}
	if o.usual > lossTolerated {
		t.Errorf("%v are usual, want %v at most", o.usual, lossTolerated)
	}
}

// One lost packet beside a queue is an overflow where none was lost by chance, and what is usual is
// none. Without a queue only heavy loss is one, and only of many packets.
func TestLossesThatOverran(t *testing.T) {
	for _, c := range []struct {
		packets, lost, usual float64
		queued               bool
		want                 float64
	}{
		{10, 1, 0, true, 0.1},
		{10, 0, 0, true, 0},
		{200, 4, 0.02, true, 0},
		{200, 40, 0.02, true, 0.2},
		{10, 5, 0, false, 0},
		{100, 5, 0, false, 0},
		{100, 20, 0, false, 0.2},
	} {
		o, got := overflow{usual: c.usual}, 0.0
		if c.queued {
			got = o.lost(c.packets, c.lost, 1)
		} else {
			got = o.heavy(c.packets, c.lost)
		}
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
