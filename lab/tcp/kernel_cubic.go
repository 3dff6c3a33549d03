package tcp

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are Linux's parameters of CUBIC (net/ipv4/tcp_cubic.c), under the names of RFC
// 9438.
const (
	kernelC    = 410.0 / 1024 // segments per second cubed (bic_scale)
	kernelBeta = 717.0 / 1024
	// kernelAlpha is the growth rate of the estimated Reno window that matches the decrease
	// kernelBeta. Linux uses the rate kernelAlpha also above the window before the reduction. Above
	// that window, section 4.3 specifies a rate of 1.
	kernelAlpha = 8.0 / 15
	// kernelLeast is the smallest number of acknowledged segments per additional segment of window.
	// With this value of kernelLeast the window grows by at most half in a round trip (RFC 9438,
	// section 4.4).
	kernelLeast = 2
	// kernelSearch is the largest number of segments per additional segment before a loss has shown
	// a maximum. If the window has reached the curve, the number of segments is kernelPlateau times
	// the window.
	kernelSearch  = 20
	kernelPlateau = 100
	// kernelEvery is how long a growth rate stays valid while the window stays the same.
	kernelEvery = time.Second / 32
	// kernelQuiet is the time after a reduction during which RTT samples do not count for the
	// minimum.
	kernelQuiet = time.Second
	// kernelUnit is the time granularity of the cubic curve.
	kernelUnit = time.Second >> 10
)

// kernelCubic implements CUBIC (RFC 9438) as in Linux. Windows are in whole segments, and times in
// ticks, because at small windows the rounding determines the growth.
type kernelCubic struct {
	tick time.Duration // time unit of the kernel's timer
	kernelCubicState
	saved kernelCubicState
}

type kernelCubicState struct {
	wMax   float64       // window before the last reduction, in segments; 0: no reduction
	wEst   float64       // the estimated window of Reno
	origin float64       // plateau of this epoch's curve
	k      time.Duration // from the epoch's start until the window is at the origin
	epoch  mono.Time     // start of the epoch; 0: the next call of avoid starts it
	least  time.Duration // minimum RTT; 0: no sample yet

	acked float64 // acknowledged segments not yet counted for wEst
	each  float64 // acknowledged segments for each additional segment of window
	last  float64 // window for which each was computed
	at    int64   // time of the computation, in ticks
	owed  float64 // acknowledged segments that have not yet increased the window
}

// sample processes the RTT sample of the newest acknowledged segment.
func (c *kernelCubic) sample(d time.Duration, now mono.Time) {
	if c.epoch != 0 && now.Sub(c.epoch) < kernelQuiet {
		return
	}
	if d = max(d, 1); c.least == 0 || d < c.least {
		c.least = d
	}
}

// ticks rounds a time down to whole ticks.
func (c *kernelCubic) ticks(t int64) int64 { return t / int64(max(c.tick, 1)) }

// begin starts a CUBIC epoch with a window of `segs` segments (section 4.2).
func (c *kernelCubic) begin(now mono.Time, segs float64) {
	c.epoch, c.wEst, c.origin, c.k = now, segs, segs, 0
	if segs < c.wMax {
		// If the window is not below wMax, slow start exceeded the last maximum, or there was no
		// maximum.
		c.origin = c.wMax
		c.k = time.Duration(math.Cbrt((c.wMax-segs)/kernelC) * 1e9).Truncate(kernelUnit)
	}
}

// curve returns W_cubic at time t of the epoch (equation 1). Linux rounds down the distance of
// W_cubic from the origin.
func (c *kernelCubic) curve(t time.Duration) float64 {
	d := (t.Truncate(kernelUnit) - c.k).Seconds()
	return c.origin + math.Trunc(float64(kernelC*float64(d*d)*d))
}

// avoid implements sections 4.3 to 4.5 of RFC 9438.
func (c *kernelCubic) avoid(w *window, bytes int64, now mono.Time, _ time.Duration) {
	segs, acked := math.Floor(w.cwnd/w.mss), math.Ceil(float64(bytes)/w.mss)
	c.update(segs, acked, now)
	// Segments that were acknowledged during slower growth add at most one segment to the window.
	grown := 0.0
	if c.owed >= c.each {
		c.owed, grown = 0, 1
	}
	c.owed += acked
	whole := math.Floor(c.owed / c.each)
	c.owed -= float64(whole * c.each)
	w.cwnd += float64((grown + whole) * w.mss)
}

// update computes how many acknowledged segments increase the window by one segment. Linux
// evaluates the cubic curve one minimum RTT ahead, and reaches that value, or Reno's window, within
// a round trip. Within one tick, Linux does not evaluate the cubic curve again.
func (c *kernelCubic) update(segs, acked float64, now mono.Time) {
	at := c.ticks(int64(now))
	c.acked += acked
	if segs == c.last && at-c.at <= c.ticks(int64(kernelEvery)) {
		return
	}
	if c.epoch == 0 || at != c.at {
		if c.epoch == 0 {
			c.begin(now, segs)
			c.acked = acked
		}
		ahead := c.ticks(int64(c.least + max(c.tick, 1) - 1))
		t := time.Duration(at-c.ticks(int64(c.epoch))+ahead) * max(c.tick, 1)
		c.each = kernelPlateau * segs
		if target := c.curve(t); target > segs {
			c.each = math.Floor(segs / (target - segs))
		}
		if c.wMax == 0 {
			c.each = min(c.each, kernelSearch)
		}
	}
	c.last, c.at = segs, at
	for one := math.Floor(segs / kernelAlpha); c.acked > one; c.acked -= one {
		c.wEst++
	}
	if c.wEst > segs {
		c.each = min(c.each, math.Floor(segs/(c.wEst-segs)))
	}
	c.each = max(c.each, kernelLeast)
}

// lost implements sections 4.6 and 4.7 of RFC 9438.
func (c *kernelCubic) lost(w *window) float64 {
	segs := math.Floor(w.cwnd / w.mss)
	if segs < c.wMax {
		c.wMax = math.Floor(segs * (1 + kernelBeta) / 2)
	} else {
		c.wMax = segs
	}
	c.epoch = 0
	return w.least(math.Floor(segs*kernelBeta) * w.mss)
}

// expired resets the cubic curve, as Linux does after a retransmission timeout.
func (c *kernelCubic) expired() { c.kernelCubicState = kernelCubicState{} }

func (c *kernelCubic) marked(w *window) float64 { return c.lost(w) }
func (c *kernelCubic) round(int64, int64)       {}

// idle shifts the cubic curve by the idle time (RFC 9438, section 5.8).
func (c *kernelCubic) idle(d time.Duration) {
	if c.epoch != 0 {
		c.epoch = c.epoch.Add(d)
	}
}

func (c *kernelCubic) save() { c.saved = c.kernelCubicState }
func (c *kernelCubic) undo() { c.kernelCubicState = c.saved }
