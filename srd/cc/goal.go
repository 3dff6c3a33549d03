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
	// adaptTargets is from how many times the delay that is aimed for on the window is not
	// cut in steps: two steps would not do.
	adaptTargets = 3
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

// adapted returns the window that fills what it got of the link in a round, with the
// delay that is aimed for: the rate at which bytes arrived, times the round trip with
// that delay (J. D. C. Little, Operations Research, 1961). held says that the window held sending
// back, ok that this is what the window
// should become: the delay is far too long, and cuts in halves would take several round
// trips. When a hundred begin at once, in each of these all that is too much is lost
// again (UET NSCC has a quick adapt to what arrived for this).
func (c *SRD) adapted(r *round, held bool, span, excess, goal time.Duration) (window float64, ok bool) {
	if c.tells() < 1 || !held || excess < adaptTargets*goal {
		return 0, false
	}
	window = float64(r.acked) / span.Seconds() * (c.base + goal).Seconds()
	return window, window < maxDecrease*c.window
}
