// Package rtt estimates the round trip of a path. The smoothed value and the variation follow RFC
// 6298 section 2 and RFC 9002 section 5. The base (propagation time) is a windowed minimum.
package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// BaseWindow is how long a minimum counts as the path's base (RFC 6817, section 3.4.2).
	// Beside competitors the queue is not empty for minutes, and a base that rises with it would
	// yield the link to them. The base of a longer path is accepted after at most two windows. A
	// Hold delays this; Longer and Release come earlier.
	BaseWindow = 10 * time.Minute
	// UsualWindow is how long the least smoothed round trip counts as the usual one.
	UsualWindow = 10 * time.Second
)

// Mean is a smoothed round trip with its mean deviation (RFC 6298 section 2). It is useful at its
// zero value, and not safe for concurrent use.
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

// Age marks the mean as outdated. It stays until the next sample, which replaces it.
func (m *Mean) Age() { m.samples = 0 }

// Known reports whether there was a sample.
func (m *Mean) Known() bool { return m.smoothed != 0 }

// settled is the number of samples after which the variation counts as measured. A tenth is then
// left of its first guess, which is half of the first round trip.
const settled = 9

// Settled reports whether the variation is measured rather than guessed.
func (m *Mean) Settled() bool { return m.samples >= settled }

// Smoothed returns the smoothed RTT, 0 when unknown.
func (m *Mean) Smoothed() time.Duration { return m.smoothed }

// Variation returns the mean deviation.
func (m *Mean) Variation() time.Duration { return m.variation }

// Estimator holds the round trips of one path. It is useful at its zero value, and not safe for
// concurrent use.
type Estimator struct {
	Mean
	latest   time.Duration
	latestAt mono.Time
	spread   time.Duration // mean deviation over more samples, from the steps between them
	line     line
	held     bool // competitors hold a queue; base[0] is from the time before, base[1] from the time since

	// Each has two windows: the previous one, and the present one, which began at ...At.
	base    [2]time.Duration // least round trip
	usual   [2]time.Duration // least smoothed round trip, or the mean of the first samples
	baseAt  mono.Time
	usualAt mono.Time
}

// Add adds a sample, which must be positive. The argument held is a further time for which the
// peer's host claims to have kept the packet. The claim may be a lie, so the base includes it.
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
		// usual[0] is the mean of all samples, and usual[1] the mean without the first one, up to
		// meanOf samples. The first sample is from probes on all paths at once, which may delay
		// each other.
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

// spreadPart: a new sample has the weight 1/32 in the spread. The first ones have equal weights.
const spreadPart = 32

// stepNum / stepDen is the ratio of the mean deviation of samples to their mean difference:
// 1/sqrt(2) for independent samples of a normal distribution.
const stepNum, stepDen = 7, 10

// Spread returns the mean deviation over a longer time than Variation, 0 until that is settled.
// It uses the differences between successive samples, so it shows the path's random delays and
// not its queue. A queue that fills or drains moves all samples together. On a path that is then
// left, it would count for long.
func (e *Estimator) Spread() time.Duration {
	if !e.Settled() {
		return 0
	}
	return e.spread
}

// spreads: most round trips lie within three mean deviations of the mean.
const spreads = 3

// Random returns a bound for most random differences of round trips, 0 if it is unknown.
func (e *Estimator) Random() time.Duration { return spreads * e.Spread() }

// Empty returns the usual round trip without a queue: the least smoothed one, at most the base
// plus random differences. Where round trips are random, the base alone may be luck. Below a
// granule, only queues make round trips differ.
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

// lineLeast is the number of samples of a line. With eight, three quarters of the samples have a
// known distance.
const lineLeast = 8

// Stray returns a sample's distance from a line through the samples of about one round trip
// before it. Call it before Add. The sample must not include the queueing delay of the
// acknowledgement. The root mean square of the distances measures random differences of round
// trips. The result is 0 if there is no line yet.
func (e *Estimator) Stray(now mono.Time, sample time.Duration) time.Duration {
	if e.line.length() >= e.smoothed && e.line.n >= lineLeast {
		e.line = line{}
	}
	return e.line.add(now.Sub(e.latestAt), sample)
}

// Latest returns the newest sample and its time.
func (e *Estimator) Latest() (time.Duration, mono.Time) { return e.latest, e.latestAt }

// meanOf is how many first samples have equal weights in the usual round trip. After eight
// samples, the smoothed round trip still has a little more than a third of the first one.
const meanOf = 8

// Usual returns the path's usual round trip without a queue: the least smoothed one of the last
// one to two windows. At first it is the mean of the first samples, without the very first if
// that is less. Where round trips are random, it is far above the least one, which falls as
// samples increase.
func (e *Estimator) Usual() time.Duration { return min(e.usual[0], e.usual[1]) }

// Hold begins or ends a time in which competitors hold a queue. The queue may never be empty
// then, so the base can only fall.
func (e *Estimator) Hold(now mono.Time, held bool) {
	if held == e.held {
		return
	}
	e.held, e.baseAt = held, now // afterwards it stands for another window
	if held {
		e.base[0], e.base[1] = e.Base(), e.latest
	}
}

// Beyond reports whether the usual round trip has exceeded the base by more than much for a whole
// window.
func (e *Estimator) Beyond(much time.Duration) bool {
	return e.usualAt > e.baseAt && e.Usual() > e.Base()+much
}

// Longer makes the usual round trip the base: the queue is empty, so the path has become longer.
func (e *Estimator) Longer(now mono.Time) {
	if least := e.Usual(); least > e.Base() {
		e.base, e.baseAt = [2]time.Duration{least, least}, now
	}
}

// Release handles proof that no competitor holds the queue: the path has become longer. The base
// becomes the least round trip since Hold, or the usual one.
func (e *Estimator) Release(now mono.Time) {
	if !e.held {
		e.Longer(now)
		return
	}
	e.base[0], e.baseAt, e.held = e.base[1], now, false
}

// Base returns the least round trip of the last one to two windows. During a Hold it also counts
// the time before.
func (e *Estimator) Base() time.Duration { return min(e.base[0], e.base[1]) }

// Lower lowers the base to the one of another path between the same addresses.
func (e *Estimator) Lower(base time.Duration) { e.base[0] = min(e.base[0], base) }
