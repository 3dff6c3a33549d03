package rtt

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// drawSamples draws a series of samples with their times.
func drawSamples(t *rapid.T) (at []mono.Time, rtt []time.Duration) {
	now := mono.Time(1)
	for range rapid.IntRange(1, 150).Draw(t, "samples") {
		now += mono.Time(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "gap"))
		at = append(at, now)
		rtt = append(rtt, time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "rtt")))
	}
	return at, rtt
}

// The smoothed value and the variation are those of RFC 6298 in floating point, apart from
// rounding to nanoseconds.
func TestSmoothingAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Estimator
		var smoothed, variation float64
		at, rtt := drawSamples(t)
		for i, now := range at {
			e.Add(now, rtt[i], 0)
			r := float64(rtt[i])
			if i == 0 {
				smoothed, variation = r, r/2
			} else {
				variation = 3*variation/4 + math.Abs(smoothed-r)/4
				smoothed = 7*smoothed/8 + r/8
			}
			if math.Abs(float64(e.Smoothed())-smoothed) > 20 || math.Abs(float64(e.Variation())-variation) > 50 {
				t.Fatalf("after %d samples %v and %v, want %v and %v", i+1, e.Smoothed(), e.Variation(), time.Duration(smoothed), time.Duration(variation))
			}
			if last, when := e.Latest(); last != rtt[i] || when != now || !e.Known() {
				t.Fatalf("latest %v at %d", last, when)
			}
		}
	})
}

// The base is one of the samples, and no sample of the last window is below it. It is at most
// as old as two windows plus the gaps between the samples at their ends.
func TestBaseIsAWindowedMinimum(t *testing.T) {
	const gap = 2 * time.Second // the longest gap of drawSamples
	rapid.Check(t, func(t *rapid.T) {
		var e Estimator
		at, rtt := drawSamples(t)
		for i, now := range at {
			e.Add(now, rtt[i], 0)
			least, recent := rtt[i], rtt[i]
			for j := range i {
				if age := now.Sub(at[j]); age <= BaseWindow {
					recent = min(recent, rtt[j])
				}
				if age := now.Sub(at[j]); age <= 2*BaseWindow+2*gap {
					least = min(least, rtt[j])
				}
			}
			if b := e.Base(); b > recent || b < least {
				t.Fatalf("base %v, want between %v and %v", b, least, recent)
			}
		}
	})
}

// If the route becomes longer, the base follows after at most two windows.
func TestLongerRouteIsBelieved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Estimator
		now := mono.Time(1)
		step := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Second)).Draw(t, "step"))
		for range rapid.IntRange(1, 100).Draw(t, "before") {
			e.Add(now, time.Millisecond, 0)
			now = now.Add(step)
		}
		change := now
		for ; now.Sub(change) <= 2*BaseWindow+2*step; now = now.Add(step) {
			e.Add(now, 5*time.Millisecond, 0)
		}
		if e.Base() != 5*time.Millisecond {
			t.Fatalf("base %v %v after the change", e.Base(), now.Sub(change))
		}
	})
}

// While competitors keep a queue, the base does not rise, however long the queue lasts, and
// only a shorter round trip lowers it. If the path turns out to have become longer, the base
// is the least round trip of that time.
func TestHeldQueueIsNoBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Estimator
		now := mono.Time(1)
		add := func(n int, from, to time.Duration) {
			for range n {
				e.Add(now, time.Duration(rapid.Int64Range(int64(from), int64(to)).Draw(t, "sample")), 0)
				now = now.Add(20 * time.Second)
			}
		}
		add(rapid.IntRange(1, 50).Draw(t, "before"), 10*time.Millisecond, 20*time.Millisecond)
		before := e.Base()
		for range 2 {
			e.SetContended(now, true)
			add(rapid.IntRange(1, 200).Draw(t, "held"), 50*time.Millisecond, 90*time.Millisecond)
			if e.Base() != before {
				t.Fatalf("base %v, before %v", e.Base(), before)
			}
			e.SetContended(now, rapid.Bool().Draw(t, "still"))
			add(1, 50*time.Millisecond, 90*time.Millisecond)
		}
		e.SetContended(now, true)
		add(1, 5*time.Millisecond, 9*time.Millisecond)
		if e.Base() >= before {
			t.Fatalf("base %v, and less was met", e.Base())
		}
		for _, longer := range []func(mono.Time){e.Release, e.Longer} {
			e.SetContended(now, false)
			add(1, 40*time.Millisecond, 45*time.Millisecond)
			e.SetContended(now, true)
			add(60, 40*time.Millisecond, 45*time.Millisecond)
			if longer(now); e.Base() < 40*time.Millisecond || e.Base() > 45*time.Millisecond {
				t.Fatalf("base %v of a way that takes 40 to 45 ms", e.Base())
			}
			if e.Release(now); e.Base() > 45*time.Millisecond {
				t.Fatalf("base %v, which nobody holds any more", e.Base())
			}
			add(1, 5*time.Millisecond, 9*time.Millisecond)
			if e.Base() > 9*time.Millisecond {
				t.Fatalf("base %v, and less was met just now", e.Base())
			}
		}
	})
}

func TestUnknownAtFirst(t *testing.T) {
	var e Estimator
	if e.Known() || e.Smoothed() != 0 || e.Base() != 0 {
		t.Fatal("something is known without a sample")
	}
	e.Add(1, 1, 0)
	for now := range mono.Time(1000) {
		e.Add(now+2, 1, 0)
	}
	if !e.Known() || e.Smoothed() != 1 || e.Base() != 1 {
		t.Fatal("the shortest sample there is, many times, is not known")
	}
}

// Spread does not include a queue that fills within the samples of a round trip and drains
// again, however long it becomes. It is the mean deviation of the random differences.
func TestSpreadIsNoQueue(t *testing.T) {
	var queue, jitter Estimator
	now := mono.Time(0)
	for i := range 12 {
		queue.Add(now, 100*time.Microsecond+time.Duration(i)*3*time.Millisecond, 0)
		now = now.Add(time.Millisecond)
	}
	if s := queue.Spread(); s > 3*time.Millisecond {
		t.Errorf("a queue of 36 ms that filled steadily counts for a spread of %v", s)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	mean, n := 0.0, 400
	for range n {
		jitter.Add(now, 100*time.Millisecond+time.Duration(rng.NormFloat64()*10e6), 0)
		now = now.Add(time.Millisecond)
		mean += float64(jitter.Spread()) / float64(n)
	}
	// The mean deviation of a normal distribution is sqrt(2/pi) of the standard one.
	if want := 10e6 * math.Sqrt(2/math.Pi); mean < want*0.85 || mean > want*1.15 {
		t.Errorf("spread %v of jitter whose mean deviation is %v", time.Duration(mean), time.Duration(want))
	}
}

// strays adds n samples at intervals of `step`. It returns the root mean square of their
// residuals, and the number of samples with a residual.
func strays(n int, step time.Duration, sample func(i int) time.Duration) (time.Duration, int) {
	var e Estimator
	now, known, squares := mono.Time(1e9), 0, 0.0
	for i := range n {
		now = now.Add(step)
		x := sample(i)
		if s := e.Residual(now, x).Seconds(); s > 0 {
			known++
			squares += s * s
		}
		e.Add(now, x, 0)
	}
	return time.Duration(math.Sqrt(squares/float64(known)) * 1e9), known
}

// The root mean square of the residuals is the standard deviation of the samples, with many
// samples in a round trip or with few. The first two samples of each line have no residual.
func TestStray(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, step := range []time.Duration{time.Millisecond, 80 * time.Millisecond} {
		s, known := strays(20_000, step, func(int) time.Duration {
			return 200*time.Millisecond + time.Duration(rng.NormFloat64()*5e6)
		})
		if s < 4900*time.Microsecond || s > 5100*time.Microsecond || known < 14_000 {
			t.Errorf("a sample each %v strays by %v, want 5 ms; %d known", step, s, known)
		}
	}
}

// A queue causes only small residuals, whether it is constant, grows, or oscillates with a
// period of four round trips, as with paths that take turns.
func TestQueueDoesNotStray(t *testing.T) {
	const base, queue, step = 20 * time.Millisecond, 60 * time.Millisecond, time.Millisecond
	for name, at := range map[string]func(i int) time.Duration{
		"stands": func(int) time.Duration { return queue },
		"grows":  func(i int) time.Duration { return queue * time.Duration(i) / 4000 },
		"swings": func(i int) time.Duration {
			return time.Duration(float64(queue) / 2 * (1 + math.Sin(float64(i)*2*math.Pi/200)))
		},
	} {
		if s, _ := strays(4000, step, func(i int) time.Duration { return base + at(i) }); s > queue/16 {
			t.Errorf("a queue that %s strays by %v of %v", name, s, queue)
		}
	}
}

// Samples at the same time give no line.
func TestStrayAtOnce(t *testing.T) {
	if _, known := strays(100, 0, func(i int) time.Duration { return time.Duration(i+1) * time.Millisecond }); known != 0 {
		t.Errorf("%d of 100 samples of one moment stray", known)
	}
}

// If round trips vary at random, Usual() is near their mean, however many there are, and the
// base is far below it. A queue does not raise Usual() before two windows are over.
func TestUsualIsTheMeanOfARestingPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const mean, deviation, queue = 100 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond
	var e Estimator
	now := mono.Time(1e9)
	add := func(n int, more time.Duration) {
		for range n {
			now = now.Add(10 * time.Millisecond)
			e.Add(now, mean+more+time.Duration(rng.NormFloat64()*float64(deviation)), 0)
		}
	}
	for range 20 {
		add(40, 0)
		if d := e.Usual() - mean; d < -deviation || d > deviation {
			t.Fatalf("usual %v of %v", e.Usual(), mean)
		}
	}
	if e.Base() > mean-2*deviation {
		t.Errorf("base %v", e.Base())
	}
	add(100, queue)
	if e.Usual() > mean {
		t.Errorf("usual %v a second after a queue began", e.Usual())
	}
	add(2500, queue)
	if e.Usual() < mean+queue/2 {
		t.Errorf("usual %v on a path that takes %v", e.Usual(), mean+queue)
	}
}

// The first round trip may be that of a probe that waited in a queue of the probes of all
// paths. It must not make the path seem long.
func TestUsualForgivesTheFirstRoundTrip(t *testing.T) {
	const base, wait = 2 * time.Millisecond, 18 * time.Millisecond
	var e Estimator
	now := mono.Time(1e9)
	e.Add(now, base+wait, 0)
	for range 2 * meanOf {
		now = now.Add(5 * time.Millisecond)
		e.Add(now, base, 0)
		if e.Usual() != base {
			t.Fatalf("usual %v of %v", e.Usual(), base)
		}
	}
}
