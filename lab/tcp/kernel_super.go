package tcp

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These constants determine the size of super-segments. Linux sends several segments in one burst
// even if the interface cuts them in software. Linux delays a small super-segment until the next
// acknowledgement (net/ipv4/tcp_output.c: tcp_tso_autosize and tcp_tso_should_defer). The bursts of
// this model are those of Linux without pacing.
const (
	superMost  = 64 << 10
	superLeast = 2                 // segments
	superTime  = time.Second >> 10 // time of the data in a super-segment, at the window's rate
	// For short round trips, superNear enlarges super-segments: by superMost if the RTT is below
	// superNear, and by half as much for each further superNear.
	superNear = 512 * time.Microsecond
	// superWait is the pause in sending after which no super-segment is delayed.
	superWait = time.Millisecond
	// Data are sent without delay if the fraction 1/superShare of the window is free.
	superShare = 3
)

// These constants are gains of the pacing rate over a window per round trip (tcp_pacing_ss_ratio,
// tcp_pacing_ca_ratio). With CUBIC, Linux does not pace packets at this rate. The pacing rate only
// determines the size of super-segments.
const (
	rateStarting = 2.0
	rateAvoiding = 1.2
)

// senderRate returns the pacing rate of a window in bytes per second, or 0 without an RTT.
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

// superSize returns the largest number of segments in a super-segment.
func superSize(rate float64, least time.Duration, mss float64) int {
	bytes := rate * superTime.Seconds()
	if halvings := least / superNear; halvings < 32 {
		bytes += float64(int64(superMost) >> halvings)
	}
	return max(int(min(bytes, superMost)/mss), superLeast)
}

// held reports whether data wait for the next acknowledgement, which is due soon. The argument
// `room` is the free window, and `most` is the size of a super-segment, both in bytes.
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
