package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are Linux's parameters of HyStart (net/ipv4/tcp_cubic.c). Linux does not
// implement HyStart++ (RFC 9406), so it has no conservative slow start.
const (
	trainWindow  = 16 // segments; smaller windows never end slow start
	trainSpacing = 2 * time.Millisecond
	trainLeast   = 4 * time.Millisecond
	trainMost    = 16 * time.Millisecond
	trainDivisor = 8
	trainSamples = 8
	// trainStretch bounds the part of a train's duration that the receiver and segmentation offload
	// add.
	trainStretch = time.Millisecond
)

// trains implements HyStart (Ha and Rhee, "Taming the Elephants", 2008). Slow start ends when the
// acknowledgements of one train span more than half a round trip, or when the round trip has grown.
type trains struct {
	off     bool
	found   bool
	least   time.Duration // minimum RTT of the connection
	begun   mono.Time     // start of this round
	last    mono.Time     // newest acknowledgement of the round's train
	end     int64         // the round ends when more than this offset is acknowledged
	current time.Duration // minimum RTT of this round; 0: no sample yet
	samples int
}

// sample processes the RTT sample of the newest acknowledged segment, and reports whether slow
// start must end. All bytes below una are acknowledged, and all bytes below nxt are sent. The
// argument `large` means slow start with a window of at least trainWindow, and `train` is the
// result of the function offloads().
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

// offloads returns the time by which offloads stretch a train: four of the largest super-segments
// at the sender's rate, in bytes per second.
func offloads(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return min(trainStretch, time.Duration(4*superMost/rate*1e9))
}

// again restarts HyStart's detection for a new slow start.
func (s *trains) again() { s.found = false }
