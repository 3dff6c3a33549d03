package cores

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const us = time.Microsecond

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s: %.3f, want %.3f", what, got, want)
	}
}

func TestNothingSharedIsNothingLost(t *testing.T) {
	near(t, "eight cores", work{free: 100 * us}.speedup(8), 8, 1e-9)
	near(t, "eight cores at most", work{free: 100 * us}.most(8), 8, 1e-9)
}

func TestAllInOneStationIsOneCore(t *testing.T) {
	near(t, "eight cores", work{stations: []time.Duration{100 * us}}.speedup(8), 1, 1e-9)
}

// Two threads, one station of a tenth: by hand, the second waits s (s/(s+z)) on average.
func TestTwoThreadsByHand(t *testing.T) {
	near(t, "two cores", work{free: 90 * us, stations: []time.Duration{10 * us}}.speedup(2), 2*100/101., 1e-9)
}

// The slow twin: threads that draw their times and queue, one event after the other.
func TestAnalysisAgreesWithQueues(t *testing.T) {
	for _, w := range []work{
		{free: 90 * us, stations: []time.Duration{10 * us}},
		{free: 50 * us, stations: []time.Duration{20 * us, 30 * us}},
		{free: 5 * us, stations: []time.Duration{1 * us, 8 * us}},
	} {
		for _, n := range []int{1, 2, 4, 8} {
			near(t, "queues", w.speedup(n), w.play(n)/w.play(1), 0.03)
			if w.speedup(n) > w.most(n)*1.000001 {
				t.Errorf("%v: %d cores do more than can be done", w, n)
			}
		}
	}
}

// play is how many trains n threads carry a second, of 200,000.
func (w work) play(n int) float64 {
	const trains = 200_000
	draw := rand.New(rand.NewPCG(1, 2))
	type thread struct {
		at   float64 // when it comes to its next station
		next int
	}
	threads, open := make([]thread, n), make([]float64, len(w.stations))
	for i := range threads {
		threads[i].at = draw.ExpFloat64() * w.free.Seconds()
	}
	done, now := 0, 0.0
	for done < trains {
		first := &threads[0]
		for i := range threads {
			if threads[i].at < first.at {
				first = &threads[i]
			}
		}
		now = first.at
		if first.next == len(w.stations) {
			done++
			first.next, first.at = 0, now+draw.ExpFloat64()*w.free.Seconds()
			continue
		}
		open[first.next] = max(open[first.next], now) + draw.ExpFloat64()*w.stations[first.next].Seconds()
		first.at = open[first.next]
		first.next++
	}
	return trains / now
}
