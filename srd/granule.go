package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Allowances for how coarsely the two ends act, in granules (Config.Granularity;
// RFC 9002 section 6.1.2 calls it kGranularity).
const (
	// rtoGranules and ptoGranules are the least slack of a path's timeout and of
	// the tail probe: what two processes on busy machines need.
	rtoGranules = 5
	ptoGranules = 4
	// lateGranules is how much later than usual makes a path late.
	lateGranules = 2
	// An acknowledgement may wait for an eighth of a round trip, but for no less
	// than a quarter of a granule and for no more than one.
	ackLeastPart    = 4
	ackMostGranules = 1
	// ackQuietGranules without an acknowledgement the next packet gets one at
	// once, so that a lone exchange measures its RTT.
	ackQuietGranules = 1
	// limitedGranules, and a round trip, is for how long sending that was held
	// back counts as held back.
	limitedGranules = 1
	// trainPart: how much time one train takes at the pacing rate, a tenth of a
	// granule. With the granule of a process that is 4 packets at 400 Mbit/s, 42 at
	// 5 Gbit/s. A longer run on one path is a queue there; a shorter one costs a
	// system call, and a wake-up at the far end, more often.
	trainPart = 10
	// burstPart: half a granule's bytes may leave at once, as the driver's timers
	// are not finer.
	burstPart = 2
	// cleanGranules after a loss a path is as good for repairs as one without.
	cleanGranules = 100
	// holdGranules is how long, at most, the peer is believed to have held an
	// acknowledgement back: it was put off for one granule, and may have been late by
	// some. With a granule of 1 ms the shortest queue that congestion control aims for is
	// 4 ms.
	holdGranules = 5
	// surveyGranules is how often paths are looked through for those that are near.
	surveyGranules = 1
)

// slack is these allowances as times.
type slack struct {
	rto, pto, late             time.Duration
	ackLeast, ackMost, ackIdle time.Duration
	limited, train, burst      time.Duration
	alike, survey              time.Duration
	clean, granule             time.Duration
	mistake                    time.Duration // added for a timeout that was wrong, whatever is measured
	hold                       time.Duration // not of measurements: the peer says how late it is
	queues                     time.Duration // what busy processes may take, measured or not
}

// slackOf returns the allowances for a granularity; 0 is that of a process.
func slackOf(g time.Duration) slack {
	if g == 0 {
		g = mono.Granularity
	}
	return slack{
		rto: rtoGranules * g, pto: ptoGranules * g, late: lateGranules * g,
		ackLeast: g / ackLeastPart, ackMost: ackMostGranules * g, ackIdle: ackQuietGranules * g,
		limited: limitedGranules * g, train: g / trainPart, burst: g / burstPart,
		alike: alikeGranules * g, survey: surveyGranules * g,
		clean: cleanGranules * g, granule: g, queues: ptoGranules * g, hold: holdGranules * g, mistake: rtoGranules * g,
	}
}

// wait takes d for the granule of all that waits for the other end, whose hosts take most
// of a round trip at most. How much leaves at once and how soon acknowledgements go stays:
// that is a matter of processor time.
func (s *slack) wait(d, most time.Duration) {
	s.granule = d
	s.ackMost = max(s.ackLeast, ackMostGranules*d)
	most -= s.ackMost // which timeouts have beside
	s.rto, s.pto, s.late = max(rtoGranules*d, most), max(ptoGranules*d, most), max(lateGranules*d, most)
	s.clean = cleanGranules * d
}
