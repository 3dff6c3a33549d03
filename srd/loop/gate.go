package loop

import (
	"sync"
	"time"
)

// gate is a mutex that counts: how often it was taken, how often somebody had to wait for
// it, and how long it was held. What threads cannot share of the work for a peer goes
// through gates, so their counts say how many processors a peer can use. The zero value is
// open. All counts are written by whoever has it: they cost no atomic operation of their
// own.
type gate struct {
	mu     sync.Mutex
	counts GateCounts
	left   int       // until the next sample
	since  time.Time // when the sampled hold began; zero: this one is not sampled
}

// GateCounts are since the start.
type GateCounts struct {
	Taken   uint64
	Waits   uint64        // of these, how often somebody else had it
	Waited  time.Duration // all waits together
	Samples uint64        // holds that were timed
	Sampled time.Duration // these together
}

// gateSample holds are counted for one that is timed, as looking at the clock twice costs
// some 80 ns. It is a prime: a thread takes the lock of a peer in the same four or five
// places for each train, and a divisor of that would time one place only.
const gateSample = 61

// Held is how long the gate was held all together, as far as samples tell.
func (c *GateCounts) Held() time.Duration {
	if c.Samples == 0 {
		return 0
	}
	return time.Duration(float64(c.Sampled) / float64(c.Samples) * float64(c.Taken))
}

// Lock takes the gate, and waits for it if need be.
func (g *gate) Lock() {
	if !g.mu.TryLock() {
		g.wait()
	}
	g.entered()
}

// TryLock takes the gate unless somebody has it. Nobody waits then, and nothing is counted.
func (g *gate) TryLock() bool {
	if !g.mu.TryLock() {
		return false
	}
	g.entered()
	return true
}

// Unlock gives it back.
func (g *gate) Unlock() {
	if !g.since.IsZero() {
		g.counts.Sampled += time.Since(g.since)
		g.counts.Samples++
		g.since = time.Time{}
	}
	g.mu.Unlock()
}

// wait takes the gate from whoever has it. To look at the clock costs little beside that.
func (g *gate) wait() {
	from := time.Now()
	g.mu.Lock()
	g.counts.Waits++
	g.counts.Waited += time.Since(from)
}

func (g *gate) entered() {
	g.counts.Taken++
	if g.left--; g.left < 0 {
		g.left, g.since = gateSample-1, time.Now()
	}
}
