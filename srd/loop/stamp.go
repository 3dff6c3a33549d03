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

// age returns how long ago a stamp was made; ok is false when that is not known. wall and
// since are both clocks, read together.
func (c *wallClock) age(stamp, wall int64, since time.Duration) (d time.Duration, ok bool) {
	apart, now := wall-int64(since), max(1, int64(since))
	moved, at := time.Duration(apart-c.apart.Load()).Abs(), c.at.Load()
	if at != 0 && moved > stepLeast+time.Duration(slewMost*float64(now-at)) {
		c.doubt.Store(now + int64(stepDoubt))
	}
	// Several workers may do this at once: what each stores is as good.
	c.apart.Store(apart)
	c.at.Store(now)
	d = time.Duration(wall - stamp)
	return d, d >= 0 && d <= stepDoubt && now >= c.doubt.Load()
}

// arrived returns when the kernel made a stamp of something that is received now, and how
// long ago that is; 0 when that is not known.
func (c *clock) arrived(stamp int64) (mono.Time, time.Duration) {
	if stamp == 0 {
		return 0, 0
	}
	t := time.Now() // reads both clocks
	since := t.Sub(c.start)
	d, ok := c.wall.age(stamp, t.UnixNano(), since)
	if !ok {
		return 0, 0
	}
	return max(1, c.after(since).Add(-d)), d
}
