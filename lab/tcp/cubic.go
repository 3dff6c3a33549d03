package tcp

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are from RFC 9438, sections 4.1, 4.3, 4.6 and 4.2.
const (
	cubicC    = 0.4 // segments per second cubed
	cubicBeta = 0.7
	// cubicAlpha is the additive increase of the estimated Reno window per round trip. The increase
	// cubicAlpha matches the multiplicative decrease cubicBeta.
	cubicAlpha = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	// cubicAhead bounds the window's growth per round trip.
	cubicAhead = 1.5
)

// cubic implements CUBIC (RFC 9438). All windows in the type cubic are in segments.
type cubic struct {
	cubicState
	saved cubicState
}

type cubicState struct {
	wMax   float64       // window before the last reduction, in segments
	wPrior float64       // wMax without fast convergence
	wEst   float64       // the estimated window of Reno
	k      time.Duration // from the epoch's start until the window is wMax
	epoch  mono.Time     // start of the epoch; 0: the next call of avoid starts it
}

// begin starts an epoch with a window of `segs` segments (section 4.2).
func (c *cubic) begin(now mono.Time, segs float64) {
	c.epoch, c.wEst = now, segs
	if segs >= c.wMax {
		// The window is not below wMax if slow start exceeded the last maximum, or if there was no
		// maximum.
		c.wMax, c.k = segs, 0
		return
	}
	c.k = time.Duration(math.Cbrt((c.wMax-segs)/cubicC) * 1e9)
}

// curve returns W_cubic at time t of the epoch (equation 1).
func (c *cubic) curve(t time.Duration) float64 {
	d := (t - c.k).Seconds()
	return float64(cubicC*float64(d*d)*d) + c.wMax
}

func (c *cubic) avoid(w *window, bytes int64, now mono.Time, srtt time.Duration) {
	segs, acked := w.cwnd/w.mss, float64(bytes)/w.mss
	if c.epoch == 0 {
		c.begin(now, segs)
	}
	t := now.Sub(c.epoch)
	// By section 4.3, alpha is 1 once the estimated window has reached the window before the
	// reduction.
	alpha := cubicAlpha
	if c.wEst >= c.wPrior {
		alpha = 1
	}
	c.wEst += float64(alpha * acked / segs)
	if c.curve(t) < c.wEst {
		w.cwnd = max(w.cwnd, c.wEst*w.mss)
		return
	}
	// The window grows as sections 4.4 and 4.5 of RFC 9438 specify.
	target := min(max(c.curve(t+srtt), segs), cubicAhead*segs)
	w.cwnd += float64((target - segs) / segs * acked * w.mss)
}

// lost implements sections 4.6 and 4.7 of RFC 9438.
func (c *cubic) lost(w *window) float64 {
	segs := w.cwnd / w.mss
	c.wPrior = segs
	if segs < c.wMax {
		c.wMax = segs * (1 + cubicBeta) / 2
	} else {
		c.wMax = segs
	}
	c.epoch = 0
	return w.least(w.cwnd * cubicBeta)
}

func (c *cubic) marked(w *window) float64 { return c.lost(w) }
func (c *cubic) round(int64, int64)       {}

// idle moves the epoch by the idle time, so that the curve does not advance (section 5.8).
func (c *cubic) idle(d time.Duration) {
	if c.epoch != 0 {
		c.epoch = c.epoch.Add(d)
	}
}

func (c *cubic) save() { c.saved = c.cubicState }
func (c *cubic) undo() { c.cubicState = c.saved }
