package cc

import (
	"testing"
	"time"
)

// With a buffer that is shorter than the target, the sender does not lose a tenth of its
// packets, and still uses the link.
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

// Random losses, with or without jitter, do not count as an overflow of a buffer.
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
