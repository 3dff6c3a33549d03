package loop

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gate is a mutex that counts: how often it was taken, how often somebody had to wait for
// it, and how long it was held. What threads cannot share of the work for a peer goes
// through gates, so their counts say how many processors a peer can use (docs/cores.md).
// The zero value is open. All counts are written by whoever has it: they cost no atomic
// operation of their own.
type gate struct {
	mu     sync.Mutex
	counts GateCounts
	left   int           // until the next sample
	since  time.Time     // when the sampled hold began; zero: this one is not sampled
	worked time.Duration // processor time of the thread then
}

// GateCounts are since the start.
type GateCounts struct {
	Taken   uint64
	Waits   uint64        // of these, how often somebody else had it
	Waited  time.Duration // all waits together
	Samples uint64        // holds that were timed
	Sampled time.Duration // these together
	Worked  time.Duration // processor time of Sampled: a thread may lose its processor while it has the gate
}

// gateSample holds are counted for one that is timed, as looking at two clocks twice costs
// half a microsecond. It is a prime: a thread takes the lock of a peer in the same four or five
// places for each train, and a divisor of that would time one place only.
const gateSample = 61

// Add adds the counts of another gate.
func (c *GateCounts) Add(o GateCounts) {
	c.Taken += o.Taken
	c.Waits += o.Waits
	c.Waited += o.Waited
	c.Samples += o.Samples
	c.Sampled += o.Sampled
	c.Worked += o.Worked
}

// Held is how long the gate was held all together, as far as samples tell.
func (c *GateCounts) Held() time.Duration { return c.scaled(c.Sampled) }

// Work is the processor time of Held.
func (c *GateCounts) Work() time.Duration { return c.scaled(c.Worked) }

func (c *GateCounts) scaled(d time.Duration) time.Duration {
	if c.Samples == 0 {
		return 0
	}
	return time.Duration(float64(d) / float64(c.Samples) * float64(c.Taken))
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
		g.sample(time.Since(g.since), threadTime()-g.worked)
		g.since = time.Time{}
	}
	g.mu.Unlock()
}

// threadTimeMost is what reading the thread's clock takes, which is in worked and not in held.
const threadTimeMost = 5 * time.Microsecond

// sample counts a hold of so long, with so much processor time. When that cannot be, it began
// on another thread, and says nothing.
func (g *gate) sample(held, worked time.Duration) {
	if worked < 0 || worked > held+threadTimeMost {
		return
	}
	worked = min(worked, held)
	g.counts.Samples++
	g.counts.Sampled += held
	g.counts.Worked += worked
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
		g.left, g.worked = gateSample-1, threadTime()
		g.since = time.Now()
	}
}

// threadTime is the processor time that the calling thread has had, by a system call that
// Go's scheduler is not told of.
func threadTime() time.Duration {
	var t unix.Timespec
	// Fails only for a clock that does not exist; this one came with Linux 2.6.12.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
