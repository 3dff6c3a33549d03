package cc

import (
	"math"
	"time"
)

const (
	// goalGain is by how many base round trips more the delay may be when the window is
	// a quarter of the largest: half of one. The more there is, the more unlike two ends may
	// measure and still get the same; and the longer the queue that many of them make.
	goalGain = 0.5
	// goalMost bounds that, in base round trips. With the target it makes four, a queue
	// that shallow switches hold.
	goalMost = 3
)

// goal is the delay that the window is steered to where the line is known: the target,
// and more the smaller the window is. One delay for all windows would let whoever
// measures a little less of it take what the others leave, without end; so the smaller
// of two windows that meet the same queue grows, until both are the same (Kumar et al.,
// "Swift", SIGCOMM 2020, section 3.5, flow-based scaling, which likewise goes by the
// inverse square root of the window).
func (c *SRD) goal() time.Duration {
	t := c.Target()
	most := max(InitialWindow, c.line*(c.near()+t).Seconds())
	more := goalGain * (math.Sqrt(most/c.window) - 1)
	return t + time.Duration(max(0, min(goalMost, more))*float64(c.near()))
}
