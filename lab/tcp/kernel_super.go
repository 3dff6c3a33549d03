package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Super-segments: Linux sends several segments at once even if the interface cuts them in software.
// It holds a small one back for the next acknowledgement (net/ipv4/tcp_output.c: tcp_tso_autosize
// and tcp_tso_should_defer). Its bursts are as in Linux without pacing.
const (
	superMost  = 64 << 10
	superLeast = 2                 // segments
	superTime  = time.Second >> 10 // of data at the rate of the window
	// superNear adds to the data if the round trip is short: all of superMost below superNear,
	// and half as much for each superNear above.
	superNear = 512 * time.Microsecond
	// superWait is the longest pause in sending after which nothing is held back.
	superWait = time.Millisecond
	// Data are sent at once if 1/superShare of the window is free.
	superShare = 3
)

// Gains of the rate over a window in a round trip (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
// CUBIC does not pace by it. It only gives the size of super-segments.
const (
	rateStarting = 2.0
	rateAvoiding = 1.2
)

// senderRate is the rate of a window in bytes per second, or 0.
func senderRate(w *window, smoothed time.Duration) float64 {
	if smoothed == 0 {
		return 0
	}
	gain := rateAvoiding
	if w.cwnd < w.ssthresh/2 {
		gain = rateStarting
	}
	return gain * w.cwnd / smoothed.Seconds()
}

// superSize is the most segments of a super-segment.
func superSize(rate float64, least time.Duration, mss float64) int {
	bytes := rate * superTime.Seconds()
	if halvings := least / superNear; halvings < 32 {
		bytes += float64(int64(superMost) >> halvings)
	}
	return max(int(min(bytes, superMost)/mss), superLeast)
}

// held reports whether data wait for the next acknowledgement, due soon. room is the free window in
// bytes. most is the size of a super-segment.
func held(now, sent, oldest mono.Time, smoothed time.Duration, room, most, window float64) bool {
	switch {
	case now.Sub(sent) > superWait:
	case room >= most, room >= window/superShare:
	case now.Sub(oldest) < smoothed/2:
	default:
		return true
	}
	return false
}
