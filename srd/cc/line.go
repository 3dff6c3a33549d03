package cc

import (
	"math"
	"time"
)

// lineShare is the share of the line rate that UDP payload is paced at, at most: a
// sender that is faster than its own line queues in front of it, and its
// acknowledgements wait there too. IP, UDP and framing take 0.6 % of it with
// packets of 9,000 bytes, 1.3 % with 4,150.
const lineShare = 0.99

// SetLine tells the rate in bytes per second of the line that everything leaves
// on; 0, the default, is unknown. The first window is then what the line carries
// in a base round trip, and neither rate nor window exceeds what it can use (UET's
// NSCC begins and is bounded likewise). It must come before Base.
func (c *SRD) SetLine(bytesPerSec float64) { c.line = bytesPerSec }

// Base implements Controller.
func (c *SRD) Base(d time.Duration) {
	if c.round.from != 0 || (c.base != 0 && d >= c.base) {
		return
	}
	c.base = d
	if c.line > 0 {
		c.window = max(InitialWindow, min(MaxWindow, c.product()))
	}
}

// product is the bytes that the line carries in a base round trip.
func (c *SRD) product() float64 { return c.line * c.base.Seconds() }

// ceiling bounds the window: what the line carries while a packet goes around and
// waits for the target, if the line is known. More would only wait.
func (c *SRD) ceiling() float64 {
	if c.line == 0 {
		return MaxWindow
	}
	return min(MaxWindow, max(InitialWindow, c.line*(c.base+c.Target()).Seconds()))
}

// growth is what a round with an empty queue adds to the window. Relative to the
// window it is the same for all, so those that share a link would keep the shares
// they have. Where the line is known the geometric mean of the window and what the
// line carries takes its place: the smaller of two windows grows faster.
func (c *SRD) growth() float64 {
	if c.line == 0 {
		return gain * c.window
	}
	return gain * math.Sqrt(c.window*c.product())
}
