package tcp

import "time"

// These are the constants of HyStart++ (RFC 9406, section 4.3).
const (
	hystartLeast   = 4 * time.Millisecond
	hystartMost    = 16 * time.Millisecond
	hystartDivisor = 8
	hystartSamples = 8
	hystartSlower  = 4 // divides the growth of the window in conservative slow start
	hystartRounds  = 5 // conservative rounds before congestion avoidance
)

// hystart implements HyStart++ (RFC 9406). This implementation of HyStart++ acts only in the first
// slow start.
type hystart struct {
	last, now time.Duration // minimum RTT of the previous round and of this round; 0: none
	samples   int
	base      time.Duration // minimum RTT at the start of conservative slow start; 0: not started
	rounds    int           // rounds of conservative slow start
	done      bool
}

// sample processes an RTT sample, and begins or ends conservative slow start (section 4.2).
func (s *hystart) sample(d time.Duration) {
	if s.now == 0 || d < s.now {
		s.now = d
	}
	if s.samples++; s.done || s.samples < hystartSamples || s.last == 0 {
		return
	}
	limit := min(max(s.last/hystartDivisor, hystartLeast), hystartMost)
	switch {
	case s.base == 0 && s.now >= s.last+limit:
		s.base, s.rounds = s.now, 0
	case s.now < s.base:
		s.base = 0 // the longer RTT was only jitter
	}
}

// slow returns the number of bytes by which slow start increases the window when bytes have
// arrived.
func (s *hystart) slow(bytes float64) float64 {
	if s.base != 0 && !s.done {
		return bytes / hystartSlower
	}
	return bytes
}

// round ends a round of HyStart++. After enough conservative rounds of HyStart++, round() also
// ends slow start.
func (s *hystart) round(w *window) {
	if s.base != 0 && !s.done {
		if s.rounds++; s.rounds >= hystartRounds {
			w.ssthresh = w.cwnd
			s.done = true
		}
	}
	s.last, s.now, s.samples = s.now, 0, 0
}

// over ends HyStart++ permanently, because a loss has ended slow start.
func (s *hystart) over() { s.done = true }
