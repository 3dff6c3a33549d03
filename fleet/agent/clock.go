package agent

import "time"

// setBackLeast is the least step of the clock that counts: slewing moves it by far less in a second.
const setBackLeast = time.Second

// clock notices that the host's clock was set back. While it was ahead, grants expired, and their
// records were not kept.
type clock struct{ wall time.Time }

// setBack reports whether the clock was set back since the last call, which was so long ago by a
// clock that cannot be set.
func (c *clock) setBack(now time.Time, ago time.Duration) bool {
	before := c.wall
	c.wall = now.Round(0)
	return !before.IsZero() && ago-c.wall.Sub(before) >= setBackLeast
}
