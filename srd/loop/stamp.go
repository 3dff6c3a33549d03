package loop

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// A jump of the wall clock by more than stepLeast counts as a step: the clock was set. In
	// addition, the clock may slew between two readings, by up to slewMost of the time between
	// them. NTP slews by at most 500 ppm (RFC 5905, section 11.3).
	stepLeast = 100 * time.Microsecond
	slewMost  = 1e-3
	// For the time stepDoubt after a step, receive stamps are ignored. This is long enough, because
	// no packet waits longer in a socket: older stamps are never used.
	stepDoubt = time.Second
	// readAgain is how often both clocks are read again if one of them seems to have jumped. If a
	// worker only lost its processor between the two readings, the repeated readings show no jump;
	// a real step they still show. On a busy host, false jumps occur a few times a second.
	readAgain = 3
)

// wallClock converts the kernel's receive stamps to the transport's clock. The wall clock of the
// stamps may be set at any time, but the transport's clock cannot. Both clocks are read
// together. The age of a stamp by the wall clock, subtracted from the transport's time, gives
// the stamp by the transport's clock. If the difference of the two clocks jumps, the wall clock
// was set. For some time after such a step, it is unknown whether a stamp was made before or
// after it. The zero value of a wallClock is ready for use. A wallClock is safe for concurrent
// use.
type wallClock struct {
	apart atomic.Int64 // wall clock minus monotonic clock at the last reading of both
	at    atomic.Int64 // time of that reading, by the monotonic clock; 0: never
	doubt atomic.Int64 // stamps are ignored until then
}

// age returns the age of a stamp, and false if the age is unknown. The function read() reads
// both clocks one after the other. The result `now` is the time of the monotonic clock.
func (c *wallClock) age(stamp int64, read func() (wall int64, since time.Duration)) (d, now time.Duration, ok bool) {
	wall, since := read()
	for n := 0; n < readAgain && c.moved(wall, since); n++ {
		wall, since = read()
	}
	at := max(1, int64(since))
	if c.moved(wall, since) {
		c.doubt.Store(at + int64(stepDoubt))
	}
	// Several workers may store values at once, and each value is correct.
	c.apart.Store(wall - int64(since))
	c.at.Store(at)
	d = time.Duration(wall - stamp)
	return d, since, d >= 0 && d <= stepDoubt && at >= c.doubt.Load()
}

// moved reports whether the difference of the two clocks has changed by more than a slew
// explains.
func (c *wallClock) moved(wall int64, since time.Duration) bool {
	moved, at := time.Duration(wall-int64(since)-c.apart.Load()).Abs(), c.at.Load()
	return at != 0 && moved > stepLeast+time.Duration(slewMost*float64(int64(since)-at))
}

// arrived returns the time of a received packet's stamp by the transport's clock, and the
// stamp's age. If the age is unknown, the time is 0.
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
