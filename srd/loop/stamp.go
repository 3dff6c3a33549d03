package loop

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// A jump of the wall clock by more than stepLeast counts as a step. Between two
	// readings the clock may also slew, by up to slewMost of the time between them. NTP
	// slews by at most 500 ppm (RFC 5905, section 11.3).
	stepLeast = 100 * time.Microsecond
	slewMost  = 1e-3
	// For the time stepDoubt after a step, stamps are ignored. A stamp older than that is
	// never used, because a packet waits at most that long in a socket.
	stepDoubt = time.Second
	// readAgain is how often both clocks are read again when they seem to have moved. If
	// a worker lost its processor between the two readings, the move disappears when they
	// are repeated; a real step remains. A busy host sees such a false move a few times a
	// second.
	readAgain = 3
)

// wallClock converts the kernel's receive stamps to the transport's clock. The clock of
// the stamps may be set at any time, but the transport's clock cannot. Both clocks are
// read together, so the stamp's age by the first clock gives its time by the second. If
// the two clocks have moved against each other, the wall clock was set. Then for some
// time it is unknown whether a stamp was made before the step. The zero value is ready;
// it is safe for concurrent use.
type wallClock struct {
	apart atomic.Int64 // wall clock less monotonic clock at the last look
	at    atomic.Int64 // last look, by the monotonic clock; 0: never
	doubt atomic.Int64 // stamps are ignored until then
}

// age returns the age of a stamp; ok is false if it is unknown. The function read reads
// both clocks in sequence. The result now is the time of the monotonic clock.
func (c *wallClock) age(stamp int64, read func() (wall int64, since time.Duration)) (d, now time.Duration, ok bool) {
	wall, since := read()
	for n := 0; n < readAgain && c.moved(wall, since); n++ {
		wall, since = read()
	}
	at := max(1, int64(since))
	if c.moved(wall, since) {
		c.doubt.Store(at + int64(stepDoubt))
	}
	// Several workers may store a value at once; each of their values is correct.
	c.apart.Store(wall - int64(since))
	c.at.Store(at)
	d = time.Duration(wall - stamp)
	return d, since, d >= 0 && d <= stepDoubt && at >= c.doubt.Load()
}

// moved reports whether the two clocks have moved against each other by more than a slew.
func (c *wallClock) moved(wall int64, since time.Duration) bool {
	moved, at := time.Duration(wall-int64(since)-c.apart.Load()).Abs(), c.at.Load()
	return at != 0 && moved > stepLeast+time.Duration(slewMost*float64(int64(since)-at))
}

// arrived returns the time of a received packet's stamp and the stamp's age, or 0 if they
// are unknown.
func (c *clock) arrived(stamp int64) (mono.Time, time.Duration) {
	if stamp == 0 {
		return 0, 0
	}
	d, since, ok := c.wall.age(stamp, c.both)
	if !ok {
		return 0, 0
	}
	return max(1, c.after(since).Add(-d)), d
}
