package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// front estimates how long messages wait before the window admits them: the waiting bytes,
// divided by the rate of arrivals. This is the wait of a message that joins the queue now,
// not of the message at its head. The last packets of a transfer have waited longest, but
// gain nothing from a longer path (ECF: Lim et al., CoNEXT 2017, section 3).
//
// The zero value is ready: nothing waits.
type front struct {
	wait time.Duration // smoothed
	last time.Duration // as of at
	at   mono.Time
	idle mono.Time // when last nothing waited
}

// frontRounds is the number of round trips over which the wait is smoothed. An inner
// connection that waits for a repair sends in bursts, and nothing waits between two bursts.
// If far paths were eligible only during bursts, the nearest ones would fill up. The queue
// at the end of a slow start is short-lived too: it is gone after some round trips.
const frontRounds = 8

// note records the waiting bytes and the rate in bytes per second at which they leave (0:
// unknown). rtt is a round trip. After a long pause the past wait is unknown and counts as
// zero.
func (f *front) note(now mono.Time, bytes int, rate float64, rtt time.Duration) {
	switch past, span := now.Sub(f.at), frontRounds*rtt; {
	case past >= span:
		f.wait = 0
	default:
		f.wait += time.Duration(float64(f.last-f.wait) * float64(past) / float64(span))
	}
	if f.wait == 0 {
		f.idle = now
	}
	f.at, f.last = now, 0
	if rate > 0 {
		f.last = time.Duration(min(float64(bytes)/rate, sampleMost.Seconds()) * float64(time.Second))
	}
}

// behind returns how much later a packet arrives on p than in its turn on the nearest path.
func (ch *choice) behind(p *path) time.Duration { return max(0, ch.distance(p)-ch.front.wait) }

// admitted returns the rate in bytes per second at which the window admits waiting data, 0
// if it is unknown. This is the rate of arrivals, if data waited during its measurement.
// Otherwise the measurement may only show that there was little to send. Then the rate is
// at least a window in each round trip.
func (ch *choice) admitted(now mono.Time) float64 {
	rate, trip := ch.recovery.rate.at(now), ch.rtt.Smoothed().Seconds()
	if rate == 0 || trip == 0 || ch.recovery.rate.since >= ch.front.idle {
		return rate
	}
	return max(rate, float64(ch.cfg.Control.Window())/trip)
}
