package agent

import "time"

// setBackLeast is the smallest step that counts as a clock set back. Clock slewing moves the time
// by far less in a second.
const setBackLeast = time.Second

// clock detects that the host's clock was set back. While the clock was ahead, grants may have
// expired, and the roster dropped their records.
type clock struct{ wall time.Time }

// setBack reports whether the clock was set back since the last call. The argument `ago` is the
// time since that call by a monotonic clock.
func (c *clock) setBack(now time.Time, ago time.Duration) bool {
	before := c.wall
	c.wall = now.Round(0)
	return !before.IsZero() && ago-c.wall.Sub(before) >= setBackLeast
}
