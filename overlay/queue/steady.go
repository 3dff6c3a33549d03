package queue

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// steady finds small and steady flows, like those of calls and games: datagrams of few bytes a
// second at even intervals. A frame of such a flow is worth a copy on a second uplink. The
// transport bounds the bytes of all copies, so a wrong verdict costs little. The type steady sees
// only sizes and times of arrival. The zero value of steady is a new flow.
type steady struct {
	last     mono.Time
	gap, dev time.Duration // between two frames, and its mean deviation: smoothed
	size     int           // bytes of a frame, smoothed
	run      uint8         // even intervals in a row, at most steadyRun
}

const (
	// steadySize bounds the frames of a steady flow in bytes. A frame of audio at 510 kbit/s, the
	// largest rate of Opus (RFC 6716, section 2.1.1), has 1,275 bytes every 20 ms. Calls use a
	// quarter of that rate at most. A larger frame ends the class, as in a flow with video or bulk.
	steadySize = 512
	// steadyRate bounds a steady flow in bytes per second. G.711 with headers has 10 KB/s, and a game
	// with 128 packets a second 25 KB/s.
	steadyRate = 32 << 10
	// steadyGap is the longest interval of a steady flow. Codecs send every 10 to 60 ms. A longer
	// interval is a pause between two words, and says nothing about the others.
	steadyGap = 250 * time.Millisecond
	// steadyRun is the number of intervals until a flow is steady. With fewer intervals the
	// smoothed deviation says little, and a flow without that many packets is over soon.
	steadyRun = 16
	// steadyPart is the weight of an interval in the smoothed values, as of a round trip in RFC 6298.
	steadyPart = 8
	// steadyDev is the smoothed interval divided by the largest mean deviation. At random times
	// (Poisson) the deviation is 0.74 of the interval, and of even intervals at most a half.
	steadyDev = 2
)

// note records a frame, and reports whether its flow is small and steady. TCP repairs its losses
// itself.
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
