package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// meterSpan is the length of one measurement of the rate.
const meterSpan = 200 * time.Millisecond

// meterStale is the age after which a measured rate counts as unknown.
const meterStale = 5 * meterSpan

// meter measures the rate of acknowledged bytes (UDP payload).
type meter struct {
	from  mono.Time
	bytes int
	rate  float64 // of the last complete measurement, bytes per second
}

// add counts acknowledged bytes. Bytes before a pause longer than meterStale no longer
// count.
func (m *meter) add(now mono.Time, bytes int) {
	if now.Sub(m.from) > meterStale {
		*m = meter{from: now}
	}
	m.bytes += bytes
	if d := now.Sub(m.from); d >= meterSpan {
		m.rate = float64(m.bytes) / d.Seconds()
		m.from, m.bytes = now, 0
	}
}

// at returns the rate of the last measurement, or 0 if it ended more than meterStale ago.
func (m *meter) at(now mono.Time) float64 {
	if now.Sub(m.from) > meterStale {
		return 0
	}
	return m.rate
}
