package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// front estimates how long messages wait before the window admits them: the waiting bytes,
// divided by the window's rate. The estimate is the wait of a message that joins the queue
// now, not of the message at the head of the queue. The last packets of a transfer have
// waited longest, but no queue is left behind them, so a longer path would not deliver them
// sooner (Lim et al., ECF, CoNEXT 2017, section 3).
//
// In the zero value of front the wait is zero.
type front struct {
	wait time.Duration // smoothed
	last time.Duration // wait at the time `at`
	at   mono.Time
}

// frontRounds is the number of round trips over which the wait is smoothed. An inner
// connection that waits for a repair sends in bursts, and between two bursts no packet
// waits in front of the window. If far paths were eligible only during bursts, the queues
// of the nearest paths would grow. The smoothing still forgets the queue at the end of a
// slow start, because this queue lasts only some round trips.
const frontRounds = 8

// note records the number of waiting bytes, and the rate in bytes per second at which the
// window admits them (0: unknown). The smoothing has a time constant of frontRounds times
// rtt. If the last call was longer ago than that, the past wait counts as zero.
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
