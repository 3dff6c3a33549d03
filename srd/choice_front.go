package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// front is how long messages wait before the window admits them: what waits, at the rate
// at which data arrives. It is what a message that comes now will have waited, not what
// the first one has: the last packets of a transfer have waited longest and gain nothing
// by a longer path (ECF: Lim et al., CoNEXT 2017, section 3).
//
// The zero value is ready: nothing waits.
type front struct {
	wait time.Duration // smoothed
	last time.Duration // as of at
	at   mono.Time
	idle mono.Time // when nothing waited
}

// frontRounds is over how many round trips what waits is smoothed. A connection inside
// sends in bursts when the order of its bytes waits for a repair, and between two of them
// nothing waits; paths that came and went with these would fill the nearest ones. Nor is
// the end of a slow start, some round trips long, a queue that will stand.
const frontRounds = 8

// note takes how many bytes wait as of now, at so many bytes per second (0: not known),
// where a round trip takes rtt. What waited during a long pause nobody knows.
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

// behind returns by how much a packet on p arrives later than in its turn on the nearest.
func (ch *choice) behind(p *path) time.Duration { return max(0, ch.distance(p)-ch.front.wait) }

// admitted returns at how many bytes per second what waits in front is let out, 0 if that
// is not known: what arrives, once that was measured while something waited; before, what
// arrived is what there was to send, and it is no less than a window in each round trip.
func (ch *choice) admitted(now mono.Time) float64 {
	rate, trip := ch.recovery.rate.at(now), ch.rtt.Smoothed().Seconds()
	if rate == 0 || trip == 0 || ch.recovery.rate.since >= ch.front.idle {
		return rate
	}
	return max(rate, float64(ch.cfg.Control.Window())/trip)
}
