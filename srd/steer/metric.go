package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// MetricMost is the largest congestion metric, which has 3 bits (CONGA, section 3.6).
const MetricMost = 7

// MetricAge is how long a metric stays unchanged without a new report. After that, it decreases
// by one in each MetricAge, so that a congested path is tried again (CONGA, section 3.3,
// "ageing").
const MetricAge = 10 * time.Millisecond

// quantise returns v in eighths of `full`, rounded down, but at most MetricMost.
func quantise(v, full float64) uint8 {
	if full <= 0 || v <= 0 {
		return 0
	}
	return uint8(min(MetricMost, 8*v/full))
}

// aged is a metric with the time of its measurement.
type aged struct {
	metric uint8
	at     mono.Time
}

// now returns the metric after ageing.
func (a *aged) now(now mono.Time) uint8 {
	gone := now.Sub(a.at) / MetricAge
	if gone <= 0 {
		return a.metric
	}
	return a.metric - uint8(min(time.Duration(a.metric), gone))
}
