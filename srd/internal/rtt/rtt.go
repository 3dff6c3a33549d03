// Package rtt estimates the round trip of a path. The smoothed value and the variation follow RFC
// 6298 section 2 and RFC 9002 section 5. The base (propagation time) is a windowed minimum.
package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// BaseWindow is the length of one window of the minimum filter for the path's base (RFC
	// 6817, section 3.4.2). With competitors the queue may not drain for minutes, and with a
	// base that rises with the queue, this sender would leave the link to the competitors. If
	// the path becomes longer, the base follows after at most two windows. SetContended delays
	// this, and Longer and Release set the base earlier.
	BaseWindow = 10 * time.Minute
	// UsualWindow is the length of one window of the minimum filter for the smoothed round
	// trip. The minimum of the smoothed round trip is called the path's usual round trip.
	UsualWindow = 10 * time.Second
)

// Mean is a smoothed round trip with its mean deviation (RFC 6298 section 2). The zero
// value of Mean is ready for use. A Mean is not safe for concurrent use.
type Mean struct {
	smoothed  time.Duration
	variation time.Duration
	samples   int // number of samples, at most spreadPart
}

// Add takes one sample, which must be positive.
func (m *Mean) Add(sample time.Duration) {
	m.samples = min(m.samples+1, spreadPart)
	if m.samples == 1 {
		m.smoothed, m.variation = sample, sample/2
		return
	}
	m.variation += ((m.smoothed - sample).Abs() - m.variation) / 4
	m.smoothed += (sample - m.smoothed) / 8
}

// Known reports whether there was a sample.
func (m *Mean) Known() bool { return m.smoothed != 0 }

// settled is the number of samples after which the variation counts as measured. The first
// value of the variation is a guess: half of the first round trip. After nine samples a
// tenth of this guess remains in the variation.
const settled = 9

// Settled reports whether the variation is measured rather than guessed.
func (m *Mean) Settled() bool { return m.samples >= settled }

// Smoothed returns the smoothed RTT, or 0 if it is unknown.
func (m *Mean) Smoothed() time.Duration { return m.smoothed }

// Variation returns the mean deviation.
func (m *Mean) Variation() time.Duration { return m.variation }

// Estimator estimates the round trip of one path. The zero value of Estimator is ready for
// use. An Estimator is not safe for concurrent use.
type Estimator struct {
	Mean
	latest    time.Duration
	latestAt  mono.Time
	spread    time.Duration // mean deviation over more samples, computed from differences of successive samples
	line      line
	contended bool // competitors keep a queue; base[0] is the minimum before they began, base[1] the minimum since then

	// base and usual have the minima of two windows: the previous window, and the present one,
	// which began at baseAt or usualAt.
	base    [2]time.Duration // least round trip
	usual   [2]time.Duration // least smoothed round trip, or the mean of the first samples
	baseAt  mono.Time
	usualAt mono.Time
}

// Add adds a sample, which must be positive. The argument peerDelay is a further delay in
// the peer's host, as reported by the peer. The report may be false, so the base includes
// peerDelay.
func (e *Estimator) Add(now mono.Time, sample, peerDelay time.Duration) {
	step, before := (sample - e.latest).Abs(), e.smoothed
	e.latest, e.latestAt = sample, now
	e.Mean.Add(sample)
	if before == 0 {
		e.base = [2]time.Duration{sample + peerDelay, sample + peerDelay}
		e.usual = [2]time.Duration{sample, sample}
		e.baseAt, e.usualAt = now, now
		return
	}
	e.spread += (step*stepNum/stepDen - e.spread) / time.Duration(min(e.samples-1, spreadPart))
	if e.samples <= meanOf {
		// Up to meanOf samples, usual[0] is the mean of all samples, and usual[1] the mean
		// without the first sample. The first sample is from the probes of all paths, which may
		// have delayed each other.
		e.usual[0] += (sample - e.usual[0]) / time.Duration(e.samples)
		if e.samples == 2 {
			e.usual[1] = sample
		}
		e.usual[1] += (sample - e.usual[1]) / time.Duration(e.samples-1)
	}
	if now.Sub(e.baseAt) > BaseWindow && !e.contended {
		e.base[0], e.base[1], e.baseAt = e.base[1], sample+peerDelay, now
	}
	if now.Sub(e.usualAt) > UsualWindow {
		e.usual[0], e.usual[1], e.usualAt = e.usual[1], e.smoothed, now
	}
	e.base[1] = min(e.base[1], sample+peerDelay)
	if e.samples > meanOf {
		e.usual[1] = min(e.usual[1], e.smoothed)
	}
}

// spreadPart: a new sample has the weight 1/32 in the spread. The first samples have
// equal weights.
const spreadPart = 32

// stepNum / stepDen is the ratio of the mean deviation of samples to the mean difference of
// successive samples: 1/sqrt(2) for independent samples of a normal distribution.
const stepNum, stepDen = 7, 10

// Spread returns the mean deviation of round trips over a longer time than Variation, or 0
// until Variation is settled. It uses the differences between successive samples, which
// show the path's random delays. A queue that fills or drains hardly changes these
// differences. If Spread included queues, the last queue of a path that is no longer used
// would count for a long time.
func (e *Estimator) Spread() time.Duration {
	if !e.Settled() {
		return 0
	}
	return e.spread
}

// spreads: most round trips lie within three mean deviations of the mean.
const spreads = 3

// Random returns the bound of most random differences of round trips, or 0 if it is
// unknown.
func (e *Estimator) Random() time.Duration { return spreads * e.Spread() }

// Empty returns an estimate of the round trip without a queue: the usual round trip, but at
// most the base plus Random. It is more than the base, because with random round trips the
// base may be an outlier. If the base is below a granule, Empty returns the base, because
// then round trips differ only because of queues.
func (e *Estimator) Empty() time.Duration {
	base, usual := e.Base(), e.Usual()
	switch {
	case base < mono.Granularity:
		return base
	case !e.Settled():
		return usual
	}
	return max(base, min(usual, base+e.Random()))
}

// lineLeast is the least number of samples of a line. With eight samples in a line, three
// quarters of the samples have a distance.
const lineLeast = 8

// Residual returns a sample's distance from a line through the earlier samples of about one
// round trip. Residual must be called before Add. The sample must not include the queueing
// delay of the acknowledgement. The root mean square of the distances measures random
// differences of round trips. If there is no line yet, Residual returns 0.
func (e *Estimator) Residual(now mono.Time, sample time.Duration) time.Duration {
	if e.line.length() >= e.smoothed && e.line.n >= lineLeast {
		e.line = line{}
	}
	return e.line.add(now.Sub(e.latestAt), sample)
}

// Latest returns the newest sample and its time.
func (e *Estimator) Latest() (time.Duration, mono.Time) { return e.latest, e.latestAt }

// meanOf is the number of first samples that have equal weights in the usual round trip. In
// the smoothed round trip, the first sample still has a weight of more than a third after
// eight samples.
const meanOf = 8

// Usual returns the path's usual round trip: the minimum of the smoothed round trip in the
// last one to two windows. Up to meanOf samples, it returns the mean of the samples, or the
// mean without the first sample if that is less. If round trips are random, the usual round
// trip is far above the least one, because the least one falls with the number of samples.
func (e *Estimator) Usual() time.Duration { return min(e.usual[0], e.usual[1]) }

// SetContended begins or ends a contended period, in which competitors keep a queue. In
// this period the queue may never be empty, so the base does not rise.
func (e *Estimator) SetContended(now mono.Time, contended bool) {
	if contended == e.contended {
		return
	}
	e.contended, e.baseAt = contended, now // after the period the base stays valid for another window
	if contended {
		e.base[0], e.base[1] = e.Base(), e.latest
	}
}

// Beyond reports whether the usual round trip has exceeded the base by more than `much` for
// a whole UsualWindow.
func (e *Estimator) Beyond(much time.Duration) bool {
	return e.usualAt > e.baseAt && e.Usual() > e.Base()+much
}

// Longer sets the base to the usual round trip, because the queue is empty and the path
// has become longer.
func (e *Estimator) Longer(now mono.Time) {
	if least := e.Usual(); least > e.Base() {
		e.base, e.baseAt = [2]time.Duration{least, least}, now
	}
}

// Release must be called when the path has become longer, and no competitor keeps a
// queue. The new base is the least round trip of the contended period. Without such a
// period, the new base is the usual round trip.
func (e *Estimator) Release(now mono.Time) {
	if !e.contended {
		e.Longer(now)
		return
	}
	e.base[0], e.baseAt, e.contended = e.base[1], now, false
}

// Base returns the least round trip of the last one to two windows. In a contended period
// the base is also the minimum from before that period.
func (e *Estimator) Base() time.Duration { return min(e.base[0], e.base[1]) }

// Lower reduces the base to `base`, that of another path between the same addresses, if it
// is less.
func (e *Estimator) Lower(base time.Duration) { e.base[0] = min(e.base[0], base) }
