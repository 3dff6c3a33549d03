package cc

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// scatterLeast samples it takes until a line through them leaves something to
	// measure: each estimate is then right to a sixth.
	scatterLeast = 16
	// scatterPart is the weight of a new estimate, an eighth; those before weigh the
	// same.
	scatterPart = 8
)

// scatter is by how much delays differ for no reason: the standard deviation of those
// of a round from a straight line through them. A queue stands still, or grows and
// falls with the window, which is a straight line; what a radio link adds changes
// from one packet to the next by as much as it is long.
type scatter struct {
	from   mono.Time
	n      float64
	t, x   float64 // sums: seconds since from, seconds of delay
	tt, tx float64
	xx     float64
	rounds int           // up to scatterPart
	value  time.Duration // smoothed
}

// add takes a delay; only its differences to others matter.
func (s *scatter) add(now mono.Time, delay time.Duration) {
	if s.n == 0 {
		s.from = now
	}
	t, x := now.Sub(s.from).Seconds(), delay.Seconds()
	s.n++
	s.t += t
	s.x += x
	s.tt += t * t
	s.tx += t * x
	s.xx += x * x
}

// endRound fits the line, if there is enough to do so. In a round that was not full,
// whatever held it back, the queue comes and goes, which is no straight line.
func (s *scatter) endRound(full bool) {
	if full && s.n < scatterLeast {
		return
	}
	d := s.deviation()
	*s = scatter{rounds: s.rounds, value: s.value}
	if full {
		s.rounds = min(s.rounds+1, scatterPart)
		s.value += (d - s.value) / time.Duration(s.rounds)
	}
}

// deviation returns how far the delays lie from the line: the standard deviation of
// the residuals of a linear regression, which has taken away two degrees of freedom.
func (s *scatter) deviation() time.Duration {
	if s.n <= 2 {
		return 0
	}
	tt, tx, xx := s.tt-s.t*s.t/s.n, s.tx-s.t*s.x/s.n, s.xx-s.x*s.x/s.n
	if tt > 0 {
		xx -= tx * tx / tt
	}
	return time.Duration(math.Sqrt(max(0, xx)/(s.n-2)) * float64(time.Second))
}

// known reports whether there was an estimate.
func (s *scatter) known() bool { return s.rounds > 0 }
