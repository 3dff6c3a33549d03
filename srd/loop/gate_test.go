package loop

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// One thread at a time is inside, by Lock or TryLock, and each entry is counted once.
func TestGateLetsOneIn(t *testing.T) {
	const threads, each = 4, 5000
	var g gate
	var wg sync.WaitGroup
	inside, entered := 0, uint64(0)
	visit := func() {
		if inside++; inside != 1 {
			t.Errorf("%d inside", inside)
		}
		entered++
		inside--
		g.Unlock()
	}
	for range threads {
		wg.Go(func() {
			for range each {
				g.Lock()
				visit()
				if g.TryLock() {
					visit()
				}
			}
		})
	}
	wg.Wait()
	c := g.counts
	if c.Taken != entered || entered < threads*each {
		t.Errorf("counted %d, entered %d", c.Taken, entered)
	}
	if want := (c.Taken + gateSample - 1) / gateSample; c.Samples > want || c.Samples < want/2 {
		t.Errorf("%d holds timed of %d, want %d", c.Samples, c.Taken, want)
	}
}

// Lock on a taken gate waits, and the wait is counted and timed. TryLock does not wait.
func TestGateCountsWaits(t *testing.T) {
	const hold = 20 * time.Millisecond
	runtime.LockOSThread() // threadTime measures this thread
	defer runtime.UnlockOSThread()
	var g gate
	g.Lock()
	if g.TryLock() {
		t.Fatal("taken twice")
	}
	comes, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		close(comes)
		g.Lock()
		defer g.Unlock()
	}()
	<-comes
	time.Sleep(hold)
	g.Unlock()
	<-gone
	c := g.counts
	if c.Taken != 2 || c.Waits != 1 || c.Waited > time.Minute {
		t.Errorf("%+v, want two entries and a wait", c)
	}
	if c.Samples != 1 || c.Sampled < hold || c.Held() < 2*hold {
		t.Errorf("%+v held %v, want a sample of %v", c, c.Held(), hold)
	}
	if c.Worked > hold/2 || c.Work() != 2*c.Worked {
		t.Errorf("%+v: a sleeper worked %v", c, c.Work())
	}
}

// A hold that began on one thread and ended on another is not sampled.
func TestGateOnAnotherThread(t *testing.T) {
	for _, c := range []struct {
		held, worked time.Duration
		samples      uint64
	}{{10, 4, 1}, {10, 10, 1}, {10, 0, 1}, {10, 11, 1}, {10, 11 + threadTimeMost, 0}, {10, -1, 0}} {
		var g gate
		g.sample(c.held, c.worked)
		if n := g.counts.Samples; n != c.samples || g.counts.Worked > g.counts.Sampled {
			t.Errorf("held %d, worked %d: %+v, want %d samples", c.held, c.worked, g.counts, c.samples)
		}
	}
}

// Samples cover every place that takes the gate, for any number of places in turn.
func TestGateSamplesEveryPlace(t *testing.T) {
	for places := 1; places < gateSample; places++ {
		var g gate
		seen := map[int]bool{}
		for i := range places * gateSample {
			g.Lock()
			if !g.since.IsZero() {
				seen[i%places] = true
			}
			g.Unlock()
		}
		if len(seen) != places {
			t.Errorf("of %d places %d were timed", places, len(seen))
		}
	}
}

func TestCountsOfTwoGates(t *testing.T) {
	a := GateCounts{Taken: 1, Waits: 2, Waited: 3, Samples: 4, Sampled: 5, Worked: 6}
	b := a
	b.Add(a)
	if b != (GateCounts{Taken: 2, Waits: 4, Waited: 6, Samples: 8, Sampled: 10, Worked: 12}) {
		t.Errorf("%+v", b)
	}
}

func TestNoHoldsAreNoTime(t *testing.T) {
	if d := new(GateCounts).Held() + new(GateCounts).Work(); d != 0 {
		t.Error(d)
	}
}

// Both ends count the trains of a peer, and take the lock for each train and not for each
// packet.
func TestCarried(t *testing.T) {
	const n = 40_000 // one lock in gateSample is timed: some are, however few trains that takes
	a, b := newHosts(t, 1)
	a.send(n)
	b.awaitAll(n)
	from, to := a.peer.Carried(), b.peer.Carried()
	if from.Out == 0 || to.In == 0 || from.In == 0 || to.Out == 0 {
		t.Errorf("%+v and %+v", from, to)
	}
	for _, c := range []Carried{from, to} {
		if c.Lock.Taken <= c.In+c.Out || c.Lock.Held() == 0 {
			t.Errorf("%+v", c)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	b.Run("mutex", func(b *testing.B) {
		var m sync.Mutex
		held := 0
		for b.Loop() {
			m.Lock()
			held++
			m.Unlock()
		}
	})
	b.Run("gate", func(b *testing.B) {
		var g gate
		held := 0
		for b.Loop() {
			g.Lock()
			held++
			g.Unlock()
		}
	})
}
