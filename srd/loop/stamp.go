package loop

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// stepLeast is the least jump of the wall clock that is taken for a step, and
	// slewMost how fast it may be bent otherwise. NTP bends it by 500 ppm at most (RFC
	// 5905, section 11.3).
	stepLeast = 100 * time.Microsecond
	slewMost  = 1e-3
	// stepDoubt is for how long after a step stamps are not believed, and the oldest
	// stamp that is: as long as a packet may wait in a socket.
	stepDoubt = time.Second
	// readAgain is how often both clocks are read once more when they seem to have moved: who
	// loses its processor between the two readings sees that, and a step stays one. On a busy
	// host that is a few times a second.
	readAgain = 3
)

// wallClock joins the clock of the kernel's receive stamps, which somebody may set, with
// that of the machines, which nobody can. Both are read together: how old a stamp is by
// the one says when that was by the other. When they have moved against each other the
// wall clock was set, and for a moment it is not known which stamps are from before. The
// zero value is ready; it is safe for concurrent use.
type wallClock struct {
	apart atomic.Int64 // of wall and monotonic clock, when last looked
	at    atomic.Int64 // when that was, by the monotonic clock; 0: never
	doubt atomic.Int64 // until then no stamp is believed
}

// age returns how long ago a stamp was made; ok is false when that is not known. read reads both
// clocks, one after the other, and now is the monotonic one.
func (c *wallClock) age(stamp int64, read func() (wall int64, since time.Duration)) (d, now time.Duration, ok bool) {
	wall, since := read()
	for n := 0; n < readAgain && c.moved(wall, since); n++ {
		wall, since = read()
	}
	at := max(1, int64(since))
	if c.moved(wall, since) {
		c.doubt.Store(at + int64(stepDoubt))
	}
	// Several workers may do this at once: what each stores is as good.
	c.apart.Store(wall - int64(since))
	c.at.Store(at)
	d = time.Duration(wall - stamp)
	return d, since, d >= 0 && d <= stepDoubt && at >= c.doubt.Load()
}

// moved reports whether the two clocks have moved against each other by more than the wall clock is
// bent.
func (c *wallClock) moved(wall int64, since time.Duration) bool {
	moved, at := time.Duration(wall-int64(since)-c.apart.Load()).Abs(), c.at.Load()
	return at != 0 && moved > stepLeast+time.Duration(slewMost*float64(int64(since)-at))
}

// arrived returns when the kernel made a stamp of something that is received now, and how
// long ago that is; 0 when that is not known.
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
