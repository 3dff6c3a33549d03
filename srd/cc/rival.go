package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of the competitive mode (docs/transport.md, W9 to W12).
const (
	// After w = arrived (base + T) a lone sender's queue is T. It is a rival's if it is
	// heldTargets times as long for heldRounds rounds, or longer than 5/4 T for
	// starvedRounds while less than half of the best rate arrives.
	heldTargets   = 2
	heldRounds    = 4
	starvedRounds = 8
	// seriesCut: a smaller window is a cut, and its effect is waited for.
	seriesCut = 0.75
	// sameAnswers: a rival's queue changes. One that is the same after so many drains is a
	// longer path. Alike are two that differ by a granule or by one of samePart parts.
	sameAnswers = 3
	samePart    = 16
	// RFC 9438: sections 5.1, 4.6, 4.4 and 4.3.
	cubicC     = 0.4
	cubicBeta  = 0.7
	cubicAhead = 1.5
	renoAlpha  = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	// BBRv3 (draft-ietf-ccwg-bbr, ProbeBW) probes as often.
	probeRounds = 63
	probeAfter  = 2 * time.Second
	probePart   = 8
	// flowsMost bounds N, so that no crowd of inner flows makes one tunnel aggressive
	// without end.
	flowsMost = 256
)

// rival finds out whose queue it is, and competes for it as N connections with CUBIC do.
type rival struct {
	whose  Whose
	flows  float64       // N, inner flows that count
	above  int           // rounds with a rival's queue
	best   [2]float64    // highest rates since the last drain, and before it
	high   time.Duration // longest queue since the last drain
	least  time.Duration // least queue of this drain
	answer time.Duration // and of the one before
	same   int           // drains with the same answer
}

// cubic is RFC 9438's state for one window. The zero value has met no loss.
type cubic struct {
	window float64
	peak   float64
	reno   float64
	epoch  mono.Time
	rise   time.Duration // from epoch until the window is at peak again (K)
	rounds int           // since epoch
	probe  float64       // growth of the last round beyond CUBIC's
}

// shrink cuts a window, and returns what is left of it.
func (v *cubic) shrink(now mono.Time, window, left, step float64) float64 {
	v.epoch, v.peak, v.window = now, window, max(MinWindow, left*window)
	v.rounds, v.probe = 0, 0
	v.reno, v.rise = v.window, time.Duration(math.Cbrt((window-v.window)/step/cubicC)*1e9)
	return v.window
}

// grow takes it that a round has passed. step is a packet of each of N connections. If no
// competitor is known, the window is probed after probeRounds or probeAfter: it grows by one
// packet, then two, then four.
func (v *cubic) grow(now mono.Time, step float64, alone bool) {
	if v.window == 0 {
		return
	}
	if v.rounds++; alone && (v.rounds > probeRounds || now.Sub(v.epoch) > probeAfter) {
		v.probe = max(step, min(2*v.probe, v.window/probePart))
	}
	alpha := 1.0
	if v.reno < v.peak {
		alpha = renoAlpha
	}
	v.reno += alpha * step
	d := now.Sub(v.epoch).Seconds() - v.rise.Seconds()
	v.window = min(MaxWindow, max(v.window+v.probe, min(max(v.reno, cubicC*d*d*d*step+v.peak), cubicAhead*v.window)))
}

// bound returns the largest window that overran nothing lately.
func (v *cubic) bound() float64 {
	if v.window == 0 {
		return MaxWindow
	}
	return v.window
}

// Flows tells how many inner flows there are.
func (c *SRD) Flows(n int) { c.rival.flows = float64(max(1, min(n, flowsMost))) }

// Queued implements Controller.
func (c *SRD) Queued() Whose { return c.rival.whose }

// next begins the rates of another drain period.
func (v *rival) next() { v.best = [2]float64{0, v.best[0]} }

// compete runs the competitive mode, and reports whether the round is done with.
func (c *SRD) compete(now mono.Time, r *round, lost float64, q, network time.Duration, seen bool) bool {
	v, t := &c.rival, c.Target()
	if r.sampled == 0 {
		return false
	}
	if v.whose == Others {
		if network > t/2 {
			v.high = max(v.high, q)
			c.follow(now, r.limited, lost, seen)
			return true
		}
		v.whose, c.cubic = Ours, cubic{}
	}
	best := max(v.best[0], v.best[1])
	t = max(t, time.Duration(MinWindow/best*1e9)) // the least window may be a longer queue
	long, starved := network > heldTargets*t, network > t*5/4 && c.rate <= best/2
	switch {
	case c.starting || c.chance.asked || !r.limited || 2*r.high < r.sampled || !long && !starved:
		v.above = 0
		return false
	case !seen:
		return false
	}
	if v.above++; v.above < heldRounds || !long && v.above < starvedRounds {
		return false
	}
	v.whose, v.above = Others, 0
	begin := max(InitialWindow, best*(c.base+q).Seconds()/2)
	c.window, c.cubic = min(MaxWindow, max(c.window, begin)), cubic{}
	return true
}

// follow is CUBIC of N connections (RFC 9438). Of N, of which some lost a packet,
// 1 - (1 - 1/N)^lost shrink.
func (c *SRD) follow(now mono.Time, limited bool, lost float64, seen bool) {
	step := c.rival.flows * float64(c.packet)
	switch {
	case lost > 0 && seen:
		left := 1 - (1-cubicBeta)*(1-math.Pow(1-1/c.rival.flows, math.Ceil(lost)))
		c.window, c.cut = c.cubic.shrink(now, c.window, left, step), now
	case limited && c.cubic.window == 0:
		c.window *= cubicAhead
	case limited:
		c.cubic.grow(now, step, false)
		c.window = c.cubic.window
	}
	c.window = max(MinWindow, min(MaxWindow, c.window))
}

// answered takes the least queue of a drain.
func (v *rival) answered(granule, target time.Duration) {
	if (v.least - v.answer).Abs() > min(granule, v.least/samePart) {
		v.answer, v.same = v.least, 0
	}
	v.same++
	switch competing := v.whose == Others; {
	case v.same >= sameAnswers && (v.least > target || competing && v.least > target/2):
		v.whose = Nobody
	case !competing || v.least <= target/2:
		v.whose = Ours
	}
}
