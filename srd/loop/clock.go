package loop

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// clockEvery is the interval between checks whether the machine was suspended. A check makes a
	// system call, and takes ten times as long as reading the monotonic clock.
	clockEvery = 100 * time.Millisecond
	// clockLeast is the shortest suspension that counts. The boot clock and the monotonic clock
	// are read one after the other, so they differ a little even without a suspension.
	clockLeast = 10 * time.Millisecond
	// clockFirst is a clock's first time. It is not zero, because zero means "no time".
	clockFirst = mono.Time(1)
)

// clock is monotonic and, unlike Go's monotonic clock, counts suspended time. The peers' clocks
// continue while this host is suspended, so a suspension must not prolong the life of keys.
// After a suspension the clock may lag for up to clockEvery.
type clock struct {
	start  time.Time
	boot   func() int64 // nanoseconds of CLOCK_BOOTTIME
	base   int64        // CLOCK_BOOTTIME at the start
	asleep atomic.Int64 // nanoseconds of suspension since the start
	looked atomic.Int64 // time of the last check, in nanoseconds since the start
	wall   wallClock

	// both reads the wall clock, and then the monotonic time since start.
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

// after returns the clock's time for a monotonic time since the start.
func (c *clock) after(since time.Duration) mono.Time {
	return clockFirst.Add(since + time.Duration(c.asleep.Load()))
}

// look adds the time of a suspension to the clock. A worker calls look() after each wake-up.
func (c *clock) look() {
	since, looked := int64(time.Since(c.start)), c.looked.Load()
	if since-looked < int64(clockEvery) || !c.looked.CompareAndSwap(looked, since) {
		return
	}
	// The monotonic clock is read last, so that the difference is never too large. A difference
	// that is too large would later make time run backwards.
	passed := c.boot() - c.base
	asleep := passed - int64(time.Since(c.start))
	if old := c.asleep.Load(); asleep > old+int64(clockLeast) {
		c.asleep.CompareAndSwap(old, asleep)
	}
}

// bootTime reads the clock that counts suspended time. The system call bypasses Go's scheduler.
// Otherwise the scheduler would wake its monitor thread, which polls some fifty times before it
// sleeps again.
func bootTime() int64 {
	var t unix.Timespec
	// The call fails only for an unknown clock. CLOCK_BOOTTIME exists since Linux 2.6.39.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
