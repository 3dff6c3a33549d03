package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// meterSpan is how long a rate is measured before it is shown.
const meterSpan = 200 * time.Millisecond

// meterStale after the last span its rate is not shown any more.
const meterStale = 5 * meterSpan

// meter measures the rate of acknowledged bytes (UDP payload).
type meter struct {
	from  mono.Time
	bytes int
	rate  float64   // of the last whole span, bytes per second
	since mono.Time // when that began
}

// add notes bytes that were acknowledged. What came before a pause counts no more.
func (m *meter) add(now mono.Time, bytes int) {
	if now.Sub(m.from) > meterStale {
		*m = meter{from: now}
	}
	m.bytes += bytes
	if d := now.Sub(m.from); d >= meterSpan {
		m.rate = float64(m.bytes) / d.Seconds()
		m.since, m.from, m.bytes = m.from, now, 0
	}
}

// at returns the rate as of now: that of the last span, unless it is long over.
func (m *meter) at(now mono.Time) float64 {
	if now.Sub(m.from) > meterStale {
		return 0
	}
	return m.rate
}
