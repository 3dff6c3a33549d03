package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The following constants belong to the competitive mode (docs/transport.md, W14 to W16),
// and to CUBIC and its probe (W8, W10, W15).
const (
	// By W1 the queue of a single sender settles at T. So a queue belongs to a competitor if
	// it is longer than contendedTargets x T for contendedRounds rounds. A queue longer than
	// 5/4 T for starvedRounds rounds belongs to a competitor, too, if this sender gets less
	// than half of its best rate.
	contendedTargets = 2
	contendedRounds  = 4
	starvedRounds    = 8
	// seriesCut: if the new window is below this share of the last one, it counts as a cut.
	// After a cut, only packets that were sent after it give evidence of losses and
	// competitors.
	seriesCut = 0.75
	// sameAnswers: if sameAnswers drains in a row leave the same queueing delay, the path has
	// become longer, because a competitor's queue would change (W16). Equal queues differ by
	// at most a granule and at most 1/samePart.
	sameAnswers = 3
	samePart    = 16
	// The constants of CUBIC are from RFC 9438, sections 5.1, 4.6, 4.4 and 4.3.
	cubicC     = 0.4
	cubicBeta  = 0.7
	cubicAhead = 1.5
	renoAlpha  = 3 * (1 - cubicBeta) / (1 + cubicBeta)
	// The probe for a larger window (W10) has the interval of BBRv3 (draft-ietf-ccwg-bbr,
	// ProbeBW).
	probeRounds = 63
	probeAfter  = 2 * time.Second
	probePart   = 8
	// flowsMost bounds N, and so the aggressiveness of a tunnel with many inner flows.
	flowsMost = 256
)

// rival detects the cause of the queue (W14). In the competitive mode the window behaves
// like those of N connections with CUBIC (W15).
type rival struct {
	whose  Whose
	flows  float64       // N, the number of inner flows that count
	above  int           // rounds in a row with a competitor's queue
	best   [2]float64    // highest arrival rate since the last drain, and in the period before
	high   time.Duration // longest queue since the last drain
	least  time.Duration // shortest queue of this drain
	answer time.Duration // shortest queue of an earlier drain, for comparison
	same   int           // number of drains in a row that left about the queue in `answer`
}

// cubic is the state of one window in RFC 9438. The zero value of cubic stands for a
// window without an overflow.
type cubic struct {
	window float64
	peak   float64
	reno   float64
	epoch  mono.Time
	rise   time.Duration // time from epoch until the window is at peak again (K)
	rounds int           // rounds since epoch
	probe  float64       // growth in the last round beyond CUBIC's
}

// shrink returns the new window after an overflow: `window` multiplied by `left`.
func (v *cubic) shrink(now mono.Time, window, left, step float64) float64 {
	*v = cubic{epoch: now, peak: window, window: max(MinWindow, left*window)}
	v.reno, v.rise = v.window, time.Duration(math.Cbrt((window-v.window)/step/cubicC)*1e9)
	return v.window
}

// grow handles the end of a round. The argument `step` is the size of N packets in bytes,
// one for each of N connections. If `alone` is true, the probe (W10) begins after
// probeRounds or probeAfter: the window grows by one packet, then by two, then by four.
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

// bound returns the largest window that is not expected to cause an overflow, or MaxWindow
// before the first overflow.
func (v *cubic) bound() float64 {
	if v.window == 0 {
		return MaxWindow
	}
	return v.window
}

// Flows sets N, the number of inner flows.
func (c *SRD) Flows(n int) { c.rival.flows = float64(max(1, min(n, flowsMost))) }

// Queued implements Controller.
func (c *SRD) Queued() Whose { return c.rival.whose }

// Arrived implements Controller.
func (c *SRD) Arrived() float64 { return max(c.rival.best[0], c.rival.best[1]) }

// next begins a new period between drains in `best`, the list of the best rates. If the window does
// not limit sending, the rates are those of the application, and replace no others.
func (v *rival) next(limited bool) {
	if limited {
		v.best = [2]float64{0, v.best[0]}
	}
}

// compete runs the competitive mode (W14, W15), and reports whether it has set the window
// of this round.
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
	best := c.Arrived()
	t = max(t, time.Duration(MinWindow/best*1e9)) // even the smallest window may cause a longer queue
	long, starved := network > contendedTargets*t, network > t*5/4 && c.rate <= best/2
	switch {
	case c.starting || c.chance.asked || !r.limited || 2*r.high < r.sampled || !long && !starved:
		v.above = 0
		return false
	case !seen:
		return false
	}
	if v.above++; v.above < contendedRounds || !long && v.above < starvedRounds {
		return false
	}
	v.whose, v.above = Others, 0
	c.window, c.cubic = min(MaxWindow, max(c.window, InitialWindow, best*(c.base+q).Seconds()/2)), cubic{}
	return true
}

// follow is CUBIC for N connections (RFC 9438, W15). If losses hit connections at random,
// a share of 1 - (1 - 1/N)^lost of the connections has a loss and shrinks.
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

// answered handles the end of a drain. It compares the shortest queue during this drain
// with those of earlier drains (W16).
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
