package loop

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// clockEvery is how often it is looked whether the machine was suspended. To ask
	// costs a system call, ten times what the monotonic clock does.
	clockEvery = 100 * time.Millisecond
	// clockLeast is the shortest suspension that counts. Two clocks that are read one
	// after the other may differ by what came in between.
	clockLeast = 10 * time.Millisecond
	// clockFirst is what a clock begins with: zero means "no time".
	clockFirst = mono.Time(1)
)

// clock is monotonic, and goes on while the machine is suspended, unlike that of Go: to
// the peers time has passed, and keys must not live longer for it. After a suspension
// it may be behind for clockEvery.
type clock struct {
	start  time.Time
	boot   func() int64 // nanoseconds of CLOCK_BOOTTIME
	base   int64        // what it was at start
	asleep atomic.Int64 // suspended since then, nanoseconds
	looked atomic.Int64 // when, by the monotonic clock since start
	wall   wallClock

	// both reads the wall clock, and then the monotonic one since start.
	both func() (wall int64, since time.Duration)
}

func (c *clock) begin(boot func() int64) {
	c.start, c.boot, c.base = time.Now(), boot, boot()
	c.both = func() (int64, time.Duration) {
		t := time.Now()
		return t.UnixNano(), t.Sub(c.start)
	}
}

func (c *clock) now() mono.Time { return c.after(time.Since(c.start)) }

// after returns the time so long after the start.
func (c *clock) after(since time.Duration) mono.Time {
	return clockFirst.Add(since + time.Duration(c.asleep.Load()))
}

// look takes a suspension into account. It is to be called by whoever woke up.
func (c *clock) look() {
	since, looked := int64(time.Since(c.start)), c.looked.Load()
	if since-looked < int64(clockEvery) || !c.looked.CompareAndSwap(looked, since) {
		return
	}
	// The monotonic clock is read last, so the difference is never too large: time
	// would go back when that is put right.
	passed := c.boot() - c.base
	asleep := passed - int64(time.Since(c.start))
	if old := c.asleep.Load(); asleep > old+int64(clockLeast) {
		c.asleep.CompareAndSwap(old, asleep)
	}
}

// bootTime reads the clock that goes on in a suspension. Go's scheduler is not told: that
// would wake its monitor, which looks around some fifty times before it sleeps again.
func bootTime() int64 {
	var t unix.Timespec
	// Fails only for a clock that does not exist; this one came with Linux 2.6.39.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
