package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// front estimates how long messages wait before the window admits them: the waiting
// bytes, divided by the window's rate. The estimate is the wait of a message that
// joins the queue now, not of the message at the head of the queue. The last packets of a
// transfer have waited longest, but gain nothing from a longer path (Lim et al., ECF,
// CoNEXT 2017, section 3).
//
// The zero value of front has a wait of zero.
type front struct {
	wait time.Duration // smoothed
	last time.Duration // as of at
	at   mono.Time
}

// frontRounds is the number of round trips over which the wait is smoothed. An inner
// connection that waits for a repair sends in bursts, and no packet waits between two
// bursts. If far paths were eligible only during bursts, the queues of the nearest paths
// would grow. The queue at the end of a slow start also lasts only some round trips.
const frontRounds = 8

// note records the waiting bytes and the rate in bytes per second at which the window
// admits them (0: unknown). The past wait has a time constant of frontRounds times rtt.
// After a longer pause the past wait is unknown and counts as zero.
func (f *front) note(now mono.Time, bytes int, rate float64, rtt time.Duration) {
	switch past, span := now.Sub(f.at), frontRounds*rtt; {
	case past >= span:
		f.wait = 0
	default:
		f.wait += time.Duration(float64(f.last-f.wait) * float64(past) / float64(span))
	}
	f.at, f.last = now, 0
	if rate > 0 {
		f.last = time.Duration(min(float64(bytes)/rate, sampleMost.Seconds()) * float64(time.Second))
	}
}

// excess returns the extra delay of a packet on p: the distance of p minus the wait in
// front of the window for the nearest path.
func (ch *choice) excess(p *path) time.Duration { return max(0, ch.distance(p)-ch.front.wait) }

// admitted returns the rate in bytes per second at which the window admits waiting data:
// one window for each round trip. If no round trip is known, admitted() returns 0.
func (ch *choice) admitted() float64 {
	if trip := ch.rtt.Smoothed().Seconds(); trip > 0 {
		return float64(ch.cfg.Control.Window()) / trip
	}
	return 0
}
