package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Constants of HyStart as Linux has it (net/ipv4/tcp_cubic.c). Linux has not HyStart++ (RFC
// 9406): there is no conservative slow start.
const (
	trainWindow  = 16 // segments; smaller windows are not judged
	trainSpacing = 2 * time.Millisecond
	trainLeast   = 4 * time.Millisecond
	trainMost    = 16 * time.Millisecond
	trainDivisor = 8
	trainSamples = 8
	// trainStretch bounds the part of a train that is the receiver's and the offload's.
	trainStretch = time.Millisecond
)

// trains is HyStart (Ha and Rhee, "Taming the Elephants", 2008). Slow start ends when
// acknowledgements of one train have come for longer than half a round trip, or when the
// round trip has grown.
type trains struct {
	off     bool
	found   bool
	least   time.Duration // least round trip of the connection
	begun   mono.Time     // of this round
	last    mono.Time     // newest acknowledgement of its train
	end     int64         // the round is over when more than this is acknowledged
	current time.Duration // least round trip of this round; 0: none yet
	samples int
}

// sample takes the round trip of the newest acknowledged segment, and reports whether slow start is
// to end. All below una is acknowledged, and all below nxt is sent. large means slow start with a
// window of at least trainWindow. train is the result of offloads.
func (s *trains) sample(d time.Duration, now mono.Time, una, nxt int64, large bool, train time.Duration) bool {
	if s.least == 0 || d < s.least {
		s.least = d
	}
	if s.off || s.found || !large {
		return false
	}
	if una > s.end {
		s.begun, s.last, s.end, s.current, s.samples = now, now, nxt, 0, 0
	}
	if now.Sub(s.last) <= trainSpacing {
		s.last = now
		s.found = now.Sub(s.begun) > (s.least+train)/2
	}
	if s.current == 0 || d < s.current {
		s.current = d
	}
	if s.samples < trainSamples {
		s.samples++
	} else if s.current > s.least+min(max(s.least/trainDivisor, trainLeast), trainMost) {
		s.found = true
	}
	return s.found
}

// offloads is the time by which offloads stretch a train: four of the largest
// super-segments at the sender's rate, in bytes per second.
func offloads(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return min(trainStretch, time.Duration(4*superMost/rate*1e9))
}

// again lets it judge a new slow start.
func (s *trains) again() { s.found = false }
