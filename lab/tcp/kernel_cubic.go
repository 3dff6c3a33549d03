package tcp

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of CUBIC as Linux has it (net/ipv4/tcp_cubic.c), under the names of RFC 9438.
const (
	kernelC    = 410.0 / 1024 // segments per second cubed (bic_scale)
	kernelBeta = 717.0 / 1024
	// kernelAlpha makes the estimate of Reno's window grow as slowly as fits kernelBeta. Linux
	// keeps it above the window before the reduction. Section 4.3 has 1 there.
	kernelAlpha = 8.0 / 15
	// kernelLeast is the least number of acknowledged segments that add one segment to the window.
	// So the window grows by at most half in a round trip (section 4.4).
	kernelLeast = 2
	// kernelSearch is the highest number as long as no loss has shown a maximum. At or above the
	// curve the number is kernelPlateau windows.
	kernelSearch  = 20
	kernelPlateau = 100
	// kernelEvery is how long a rate of growth holds if the window stays the same.
	kernelEvery = time.Second / 32
	// kernelQuiet is how long after a reduction the round trip is no sample of the least.
	kernelQuiet = time.Second
	// kernelUnit is the granularity of the curve's time.
	kernelUnit = time.Second >> 10
)

// kernelCubic is RFC 9438 as in Linux. Windows in it are in whole segments, and times in ticks:
// in small windows the roundings decide how fast it grows.
type kernelCubic struct {
	tick time.Duration // of the kernel
	kernelCubicState
	saved kernelCubicState
}

type kernelCubicState struct {
	wMax   float64       // window before the last reduction; 0: there was none
	wEst   float64       // Reno's window
	origin float64       // plateau of this epoch's curve
	k      time.Duration // from the epoch's begin until the window is at the origin
	epoch  mono.Time     // begin of this congestion avoidance; 0: with the next avoid
	least  time.Duration // least round trip; 0: none yet

	acked float64 // segments that Reno's window has not counted
	each  float64 // acknowledged segments for one more in the window
	last  float64 // window for which it was computed
	at    int64   // and when, in ticks
	owed  float64 // acknowledged segments that have not let the window grow
}

// sample takes the round trip of the newest acknowledged segment.
func (c *kernelCubic) sample(d time.Duration, now mono.Time) {
	if c.epoch != 0 && now.Sub(c.epoch) < kernelQuiet {
		return
	}
	if d = max(d, 1); c.least == 0 || d < c.least {
		c.least = d
	}
}

// ticks is a time in whole ticks.
func (c *kernelCubic) ticks(t int64) int64 { return t / int64(max(c.tick, 1)) }

// begin starts an epoch at a window (section 4.2).
func (c *kernelCubic) begin(now mono.Time, segs float64) {
	c.epoch, c.wEst, c.origin, c.k = now, segs, segs, 0
	if segs < c.wMax {
		// Else slow start went past the last maximum, or there was none.
		c.origin = c.wMax
		c.k = time.Duration(math.Cbrt((c.wMax-segs)/kernelC) * 1e9).Truncate(kernelUnit)
	}
}

// curve is W_cubic at time t of the epoch (equation 1). Linux rounds its distance from the
// origin down.
func (c *kernelCubic) curve(t time.Duration) float64 {
	d := (t.Truncate(kernelUnit) - c.k).Seconds()
	return c.origin + math.Trunc(float64(kernelC*float64(d*d)*d))
}

// avoid is sections 4.3 to 4.5.
func (c *kernelCubic) avoid(w *window, bytes int64, now mono.Time, _ time.Duration) {
	segs, acked := math.Floor(w.cwnd/w.mss), math.Ceil(float64(bytes)/w.mss)
	c.update(segs, acked, now)
	// Segments that were acknowledged while growth was slower add one segment at most.
	grown := 0.0
	if c.owed >= c.each {
		c.owed, grown = 0, 1
	}
	c.owed += acked
	whole := math.Floor(c.owed / c.each)
	c.owed -= float64(whole * c.each)
	w.cwnd += float64((grown + whole) * w.mss)
}

// update computes how many acknowledged segments let the window grow by one. Linux looks the
// least round trip ahead on the curve, and closes the distance to it, or to Reno's window,
// in a round trip. Within a tick it does not look at the curve again.
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

// lost is sections 4.6 and 4.7.
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

// expired forgets the curve, as Linux does after a retransmission timeout.
func (c *kernelCubic) expired() { c.kernelCubicState = kernelCubicState{} }

func (c *kernelCubic) marked(w *window) float64 { return c.lost(w) }
func (c *kernelCubic) round(int64, int64)       {}

// idle keeps the curve where it was (section 5.8).
func (c *kernelCubic) idle(d time.Duration) {
	if c.epoch != 0 {
		c.epoch = c.epoch.Add(d)
	}
}

func (c *kernelCubic) save() { c.saved = c.kernelCubicState }
func (c *kernelCubic) undo() { c.kernelCubicState = c.saved }
