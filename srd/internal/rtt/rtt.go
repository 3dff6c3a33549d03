// Package rtt estimates a path's round-trip time: smoothed value and variation
// as RFC 6298 section 2 and RFC 9002 section 5, and the base (propagation) time
// as a windowed minimum.
package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// BaseWindow is how long a minimum counts as the path's base (RFC 6817, section 3.4.2).
	// Beside others the queue is not empty for minutes, and a base that follows leaves them
	// the link. A way that becomes longer is believed after at most twice this, but for the time
	// of a Hold, or when somebody knows (Longer, Release).
	BaseWindow = 10 * time.Minute
	// UsualWindow is how long the least smoothed round trip counts as the usual one.
	UsualWindow = 10 * time.Second
)

// Mean is a smoothed round-trip time with its mean deviation (RFC 6298 section 2), useful at
// its zero value, not safe for concurrent use.
type Mean struct {
	smoothed  time.Duration
	variation time.Duration
	samples   int // up to spreadPart
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

// Age takes it that the mean is one of long ago: it stands until there is a sample, which then
// is the first.
func (m *Mean) Age() { m.samples = 0 }

// Known reports whether there was a sample.
func (m *Mean) Known() bool { return m.smoothed != 0 }

// settled is how many samples it takes until little is left of the first guess of
// the variation, which is half of the first round trip: a tenth of it.
const settled = 9

// Settled reports whether the variation is measured rather than guessed.
func (m *Mean) Settled() bool { return m.samples >= settled }

// Smoothed returns the smoothed RTT, 0 when unknown.
func (m *Mean) Smoothed() time.Duration { return m.smoothed }

// Variation returns the mean deviation.
func (m *Mean) Variation() time.Duration { return m.variation }

// Estimator is one path's RTT state, useful at its zero value, not safe for
// concurrent use.
type Estimator struct {
	Mean
	latest   time.Duration
	latestAt mono.Time
	spread   time.Duration // mean deviation, over more samples, by their steps
	line     line
	held     bool // base[0] is of the time before others held a queue up, and base[1] since

	// Of two windows each: the previous one, and the one that is running since ...At.
	base    [2]time.Duration // least
	usual   [2]time.Duration // least smoothed time, or the mean of the first samples
	baseAt  mono.Time
	usualAt mono.Time
}

// Add takes one sample, which must be positive. held is what the peer's host says that it took
// of the time beside it: that may be a lie, so no base is short by it.
func (e *Estimator) Add(now mono.Time, sample, held time.Duration) {
	step, before := (sample - e.latest).Abs(), e.smoothed
	e.latest, e.latestAt = sample, now
	e.Mean.Add(sample)
	if before == 0 {
		e.base = [2]time.Duration{sample + held, sample + held}
		e.usual = [2]time.Duration{sample, sample}
		e.baseAt, e.usualAt = now, now
		return
	}
	e.spread += (step*stepNum/stepDen - e.spread) / time.Duration(min(e.samples-1, spreadPart))
	if e.samples <= meanOf {
		// usual[0] is the mean of all, usual[1] of all but the first, until there are enough:
		// the first is that of probes on all paths at once, which may wait for each other.
		e.usual[0] += (sample - e.usual[0]) / time.Duration(e.samples)
		if e.samples == 2 {
			e.usual[1] = sample
		}
		e.usual[1] += (sample - e.usual[1]) / time.Duration(e.samples-1)
	}
	if now.Sub(e.baseAt) > BaseWindow && !e.held {
		e.base[0], e.base[1], e.baseAt = e.base[1], sample+held, now
	}
	if now.Sub(e.usualAt) > UsualWindow {
		e.usual[0], e.usual[1], e.usualAt = e.usual[1], e.smoothed, now
	}
	e.base[1] = min(e.base[1], sample+held)
	if e.samples > meanOf {
		e.usual[1] = min(e.usual[1], e.smoothed)
	}
}

// spreadPart is the weight of a new sample in the spread, 1/32; those before weigh
// the same.
const spreadPart = 32

// stepNum / stepDen is what two independent samples' mean deviation is of their mean
// difference: 1/sqrt(2) for a normal distribution.
const stepNum, stepDen = 7, 10

// Spread returns the mean deviation over a longer time than Variation, 0 while that
// is not settled: what a path adds at random, rather than what a queue does. It is
// taken from the difference of one sample to the next. A queue that fills and drains
// takes all samples along, and on a path that is then left it would count for long.
func (e *Estimator) Spread() time.Duration {
	if !e.Settled() {
		return 0
	}
	return e.spread
}

// spreads: most round trips are within three mean deviations of the mean.
const spreads = 3

// Random returns by how much round trips differ at random: most of them by no more. 0
// while that is not known.
func (e *Estimator) Random() time.Duration { return spreads * e.Spread() }

// Empty returns what a packet takes without a queue: the least smoothed round trip, but no
// more than the least one and what is random. The least alone may be luck where round trips
// are random; below a granule nothing is but what queues do.
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

// lineLeast samples a line has: of three quarters of them the distance is known.
const lineLeast = 8

// Stray takes a sample, before Add does, without what it waited on the way back, and returns
// how far it lies from the line through those before it, in about a round trip: of many,
// the root mean square is by how much round trips differ for no reason. 0: there is no
// such line yet.
func (e *Estimator) Stray(now mono.Time, sample time.Duration) time.Duration {
	if e.line.length() >= e.smoothed && e.line.n >= lineLeast {
		e.line = line{}
	}
	return e.line.add(now.Sub(e.latestAt), sample)
}

// Latest returns the newest sample and when it was taken.
func (e *Estimator) Latest() (time.Duration, mono.Time) { return e.latest, e.latestAt }

// meanOf is of how many first samples the mean is taken: of these little more than a
// third is left in the smoothed time of the first one alone.
const meanOf = 8

// Usual returns the least smoothed RTT of the last one to two windows, or the mean of
// the first samples, without the very first if that is less: what a packet takes on the
// path when there is no queue. Where round trips differ at random that is far more than
// the least of them, which is the lower the more there were.
func (e *Estimator) Usual() time.Duration { return min(e.usual[0], e.usual[1]) }

// Hold says whether others hold a queue up from now on. While they do it may never be empty, and
// only a lower base counts.
func (e *Estimator) Hold(now mono.Time, held bool) {
	if held == e.held {
		return
	}
	e.held, e.baseAt = held, now // afterwards it stands for another window
	if held {
		e.base[0], e.base[1] = e.Base(), e.latest
	}
}

// Beyond reports whether what is usual has been above the base by more than so much since a whole
// window.
func (e *Estimator) Beyond(much time.Duration) bool {
	return e.usualAt > e.baseAt && e.Usual() > e.Base()+much
}

// Longer takes the usual round trip for the base: there is no queue, the way has become longer.
func (e *Estimator) Longer(now mono.Time) {
	if least := e.Usual(); least > e.Base() {
		e.base, e.baseAt = [2]time.Duration{least, least}, now
	}
}

// Release takes it that nobody holds a queue up: the path has become longer. The base is the
// least round trip of the Hold that it ends, or the usual one.
func (e *Estimator) Release(now mono.Time) {
	if !e.held {
		e.Longer(now)
		return
	}
	e.base[0], e.baseAt, e.held = e.base[1], now, false
}

// Base returns the least RTT of the last one to two windows, or from before others held the
// queue up.
func (e *Estimator) Base() time.Duration { return min(e.base[0], e.base[1]) }

// Lower takes a base that another path between the same addresses has.
func (e *Estimator) Lower(base time.Duration) { e.base[0] = min(e.base[0], base) }
