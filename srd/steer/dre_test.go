package steer

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

var paperShape = dreShape{alpha: DefaultDREAlpha, period: DefaultDREPeriod}

func TestDREByHand(t *testing.T) {
	if tau := paperShape.tau(); math.Abs(tau-160e-6) > 1e-12 {
		t.Fatalf("tau is %v s", tau)
	}
	var d dre
	d.add(5_000, 8000, &paperShape) // period 0
	for _, c := range []struct {
		at   mono.Time
		want float64
	}{
		{19_999, 8000},
		{20_000, 7000},                // x 7/8
		{40_000, 6125},                // x 7/8 again
		{59_999, 6125},                //
		{100_000, 6125 * 343.0 / 512}, // three periods at once
		{90_000, 6125 * 343.0 / 512},  // a time in the past does not change it
	} {
		if x := d.at(c.at, &paperShape); math.Abs(x-c.want) > 1e-9 {
			t.Errorf("at %d ns: %v, want %v", c.at, x, c.want)
		}
	}
	d.add(100_000, 1000, &paperShape)
	if want := 6125*343.0/512 + 1000; math.Abs(d.x-want) > 1e-9 {
		t.Errorf("%v, want %v", d.x, want)
	}
	if x := d.at(1e9, &paperShape); x != 0 {
		t.Errorf("%v after a second", x)
	}
}

// At a steady rate R the register is about R times tau (section 3.2).
func TestDREMeasuresRates(t *testing.T) {
	const rate = 40e9 / 8
	var d dre
	for i := range 10000 {
		d.add(mono.Time(i)*300, rate*300e-9, &paperShape)
	}
	if r := d.x / (rate * paperShape.tau()); math.Abs(r-1) > 0.14 {
		t.Errorf("register is %.3f of R tau", r)
	}
}

// The result is the same as with the paper's timer.
func TestDREAgainstATimer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := dreShape{
			alpha:  rapid.Float64Range(MinDREAlpha, 0.99).Draw(t, "alpha"),
			period: time.Duration(rapid.IntRange(1, 1000).Draw(t, "period")),
		}
		var d dre
		x, ticks, now := 0.0, int64(0), mono.Time(0)
		for range rapid.IntRange(1, 100).Draw(t, "packets") {
			now += mono.Time(rapid.IntRange(0, 20*int(s.period)).Draw(t, "gap"))
			for ; ticks < int64(now)/int64(s.period); ticks++ {
				x *= 1 - s.alpha
			}
			n := rapid.IntRange(1, 65535).Draw(t, "bytes")
			x += float64(n)
			if d.add(now, n, &s); math.Abs(d.x-x) > 1e-9*x {
				t.Fatalf("%v, with a timer %v", d.x, x)
			}
		}
	})
}

func TestQuantise(t *testing.T) {
	for _, c := range []struct {
		v, full float64
		want    uint8
	}{{0, 8, 0}, {0.99, 8, 0}, {1, 8, 1}, {3.9, 8, 3}, {6.99, 8, 6}, {7, 8, 7}, {8, 8, 7}, {1e30, 8, 7}, {5, 0, 0}, {-1, 8, 0}} {
		if q := quantise(c.v, c.full); q != c.want {
			t.Errorf("%v of %v: %d, want %d", c.v, c.full, q, c.want)
		}
	}
}
