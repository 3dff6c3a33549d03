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

// What is lost beside a queue is an overflow if that is clearly more than is lost by chance. Without a
// queue only heavy loss is one, and only of many packets.
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
		{losses{packets: 10, lost: 5, first: 50, most: 1}, 0},
		{losses{packets: 100, lost: 5, first: 50, most: 1}, 0},
		{losses{packets: 100, lost: 20, first: 50, most: 1}, 0.2},
	} {
		var o overflow
		if got := o.lost(c.losses); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The mean interval follows what is lost, and grows when for long nothing is.
func TestIntervalsOfLosses(t *testing.T) {
	var i intervals
	for range 100 {
		i.add(300, 3, 50)
	}
	if v := i.value(50); v < 95 || v > 105 {
		t.Errorf("one of 100 packets is lost, and %.0f are between", v)
	}
	i.add(100_000, 0, 50)
	if v := i.value(50); v < 5000 {
		t.Errorf("none of 100,000 packets is lost, and %.0f are between", v)
	}
	if i.add(1e12, 0, 50); i.value(50) > intervalMost {
		t.Errorf("%.0f between two losses", i.value(50))
	}
}
