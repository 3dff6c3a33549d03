package loop

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gate is a mutex that counts how often it was taken, how often threads waited, and how
// long it was held. Threads cannot share the work inside a peer's gate. So the counts
// show how many processors a peer can use (docs/cores.md). The zero value is open. The
// holder writes all counts, so they need no atomic operations.
type gate struct {
	mu     sync.Mutex
	counts GateCounts
	left   int           // holds until the next sample
	since  time.Time     // begin of a sampled hold; zero: not sampled
	worked time.Duration // the thread's processor time at since
}

// GateCounts are since the start.
type GateCounts struct {
	Taken   uint64
	Waits   uint64        // how often another thread held it
	Waited  time.Duration // all waits together
	Samples uint64        // holds that were timed
	Sampled time.Duration // time of these holds together
	Worked  time.Duration // processor time within Sampled: a thread may lose its processor while it holds the gate
}

// One hold in gateSample is timed, because reading two clocks twice costs half a
// microsecond. It is a prime: a thread locks a peer at the same four or five places for
// each train. A multiple of that number would time only one of them.
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

// Held estimates the total time of all holds from the samples.
func (c *GateCounts) Held() time.Duration { return c.scaled(c.Sampled) }

// Work is the processor time of Held.
func (c *GateCounts) Work() time.Duration { return c.scaled(c.Worked) }

func (c *GateCounts) scaled(d time.Duration) time.Duration {
	if c.Samples == 0 {
		return 0
	}
	return time.Duration(float64(d) / float64(c.Samples) * float64(c.Taken))
}

// Lock takes the gate, and waits for it if it is held.
func (g *gate) Lock() {
	if !g.mu.TryLock() {
		g.wait()
	}
	g.entered()
}

// TryLock takes the gate unless it is held. It never waits, and a failure is not counted.
func (g *gate) TryLock() bool {
	if !g.mu.TryLock() {
		return false
	}
	g.entered()
	return true
}

// Unlock gives the gate back.
func (g *gate) Unlock() {
	if !g.since.IsZero() {
		g.sample(time.Since(g.since), threadTime()-g.worked)
		g.since = time.Time{}
	}
	g.mu.Unlock()
}

// threadTimeMost is the time to read the thread's clock; a sample's worked includes it
// and held does not.
const threadTimeMost = 5 * time.Microsecond

// sample counts one timed hold. If worked exceeds held or is negative, the goroutine
// changed its thread, and the sample is useless.
func (g *gate) sample(held, worked time.Duration) {
	if worked < 0 || worked > held+threadTimeMost {
		return
	}
	worked = min(worked, held)
	g.counts.Samples++
	g.counts.Sampled += held
	g.counts.Worked += worked
}

// wait takes a gate that another thread holds. Reading the clock costs little beside the
// wait.
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

// threadTime returns the processor time of the calling thread. Go's scheduler does not
// learn of the system call.
func threadTime() time.Duration {
	var t unix.Timespec
	// Fails only for a clock that does not exist; this one came with Linux 2.6.12.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
