package steer

import (
	"math"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// fluid is a simulated network of links with one queue each. Path p uses link of[p].
type fluid struct {
	of   []int
	rate []float64   // packets a second, for each link
	free []mono.Time // when the link's queue is empty
	sent []int
	acks []fluidAck // in order of arrival for each link, not sorted
	base time.Duration
}

type fluidAck struct {
	at    mono.Time
	p     int
	queue time.Duration
}

func newFluid(entropies []int, rate func(link int) float64) *fluid {
	f := &fluid{base: 200 * time.Microsecond, free: make([]mono.Time, len(entropies)), sent: make([]int, len(entropies))}
	for link, n := range entropies {
		f.rate = append(f.rate, rate(link))
		for range n {
			f.of = append(f.of, link)
		}
	}
	return f
}

// send puts a packet on path p.
func (f *fluid) send(now mono.Time, p int) {
	l := f.of[p]
	start := max(now, f.free[l])
	f.free[l] = start.Add(time.Duration(1e9 / f.rate[l]))
	f.sent[l]++
	f.acks = append(f.acks, fluidAck{f.free[l].Add(f.base), p, start.Sub(now)})
}

// arrived passes the acknowledgements that are due to s.
func (f *fluid) arrived(now mono.Time, s *Spray) {
	kept := f.acks[:0]
	for _, a := range f.acks {
		if a.at > now {
			kept = append(kept, a)
			continue
		}
		s.Sample(a.at, a.p, Sample{Queue: a.queue, RTT: f.base + a.queue})
	}
	f.acks = kept
}

// run keeps `window` packets in flight for d and returns each link's share.
func (f *fluid) run(now *mono.Time, d time.Duration, s *Spray, window int) []float64 {
	usable := setOf(len(f.of))
	clear(f.sent)
	for end := now.Add(d); *now < end; *now += 20_000 {
		f.arrived(*now, s)
		for len(f.acks) < window {
			f.send(*now, s.Pick(*now, usable, Context{Target: target}))
		}
	}
	total, share := 0, make([]float64, len(f.sent))
	for _, n := range f.sent {
		total += n
	}
	for l, n := range f.sent {
		share[l] = float64(n) / float64(total)
	}
	return share
}

// mbit100 is 100 Mbit/s in packets of 1,500 bytes a second.
func mbit100(int) float64 { return 100e6 / 8 / 1500 }

// The source ports are distributed unevenly over four links. Still each link gets a quarter
// of the traffic.
func TestUnevenEntropiesFillAllLinks(t *testing.T) {
	for _, entropies := range [][]int{{4, 7, 9, 12}, {8, 8, 8, 8}, {2, 10, 10, 10}, {1, 1, 1, 29}} {
		f, s, now := newFluid(entropies, mbit100), NewSpray(1), mono.Time(1)
		window := 4 * int(mbit100(0)*(f.base+target).Seconds())
		f.run(&now, 3*time.Second, s, window)
		share := f.run(&now, time.Second, s, window)
		t.Logf("%v: shares %.3f", entropies, share)
		for l, v := range share {
			if math.Abs(v-0.25) > 0.05*0.25 {
				t.Errorf("%v: link %d has share %.3f", entropies, l, v)
			}
		}
	}
}

// Links of unequal rates get traffic in proportion to their rates.
func TestUnequalLinksAreUsedByRate(t *testing.T) {
	rates := []float64{1, 1, 1, 0.25}
	f := newFluid([]int{4, 4, 4, 4}, func(l int) float64 { return rates[l] * mbit100(l) })
	s, now := NewSpray(2), mono.Time(1)
	window := int(3.25 * mbit100(0) * (f.base + target).Seconds())
	f.run(&now, 3*time.Second, s, window)
	share := f.run(&now, time.Second, s, window)
	t.Logf("shares %.3f", share)
	for l, v := range share {
		if want := rates[l] / 3.25; math.Abs(v-want) > 0.05*want {
			t.Errorf("link %d has share %.3f, want %.3f", l, v, want)
		}
	}
}
