package queue

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// steady detects small and steady flows, such as those of calls and games. They send datagrams at
// even intervals, with few bytes a second. The transport may send a copy of such a frame on a
// second uplink. It bounds the bytes of all copies, so a wrong classification costs little. The
// type steady sees only sizes and times of arrival. The zero value of steady is a new flow.
type steady struct {
	last     mono.Time
	gap, dev time.Duration // smoothed interval between two frames, and its smoothed mean deviation
	size     int           // bytes of a frame, smoothed
	run      uint8         // number of measured intervals, at most steadyRun
}

const (
	// steadySize is the largest size, in bytes, of a frame of a steady flow. At 510 kbit/s, the
	// largest rate of Opus (RFC 6716, section 2.1.1), audio has 1,275 bytes every 20 ms. Calls use
	// at most a quarter of that rate. After a larger frame, as in video or bulk data, the flow does
	// not count as steady.
	steadySize = 512
	// steadyRate is the largest rate of a steady flow in bytes per second. G.711 with headers sends
	// 10 KB/s, and a game with 128 packets a second sends 25 KB/s.
	steadyRate = 32 << 10
	// steadyGap is the longest interval of a steady flow. Codecs send every 10 to 60 ms. A longer
	// interval is a pause between two words, and is not counted.
	steadyGap = 250 * time.Millisecond
	// steadyRun is the number of intervals until a flow is steady. With fewer intervals the
	// smoothed deviation is unreliable, and a flow with fewer packets ends soon anyway.
	steadyRun = 16
	// 1/steadyPart is the weight of a new interval in the smoothed values, as for a new round trip
	// in RFC 6298.
	steadyPart = 8
	// steadyDev is the smallest ratio of the smoothed interval to its mean deviation in a steady
	// flow. If frames come at random times (Poisson), the deviation is 0.74 of the interval. For
	// even intervals it is at most half of the interval.
	steadyDev = 2
)

// note records a frame, and reports whether its flow is small and steady. A TCP flow never is,
// because TCP retransmits lost packets itself.
func (s *steady) note(now mono.Time, size int, tcp bool) bool {
	if tcp || size > steadySize {
		s.run = 0
		return false
	}
	gap := now.Sub(s.last)
	s.last = now
	switch {
	case gap > steadyGap:
	case s.run == 0:
		s.gap, s.dev, s.size, s.run = gap, 0, size, 1
	default:
		s.dev += ((gap - s.gap).Abs() - s.dev) / steadyPart
		s.gap += (gap - s.gap) / steadyPart
		s.size += (size - s.size) / steadyPart
		s.run = min(s.run+1, steadyRun)
	}
	return s.run == steadyRun && steadyDev*s.dev <= s.gap && float64(s.size) <= steadyRate*s.gap.Seconds()
}
