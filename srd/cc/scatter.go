package cc

import (
	"math"
	"time"
)

const (
	// scatterLeast samples it takes until they leave something to measure: each estimate
	// is then right to a sixth.
	scatterLeast = 16
	// scatterPart is the weight of a new estimate, an eighth; those before weigh the
	// same.
	scatterPart = 8
)

// scatter is by how much round trips differ for no reason: how far they stray from what
// their path's others lead to (Ack.Stray), as the root mean square of a round.
type scatter struct {
	n, squares float64       // of seconds
	rounds     int           // up to scatterPart
	value      time.Duration // smoothed
}

// add takes a distance.
func (s *scatter) add(stray time.Duration) {
	s.n++
	s.squares += stray.Seconds() * stray.Seconds()
}

// endRound takes the mean, if there is enough to do so. In a round that was not full,
// whatever held it back, the queue comes and goes, and distances are its.
func (s *scatter) endRound(full bool) {
	if full && s.n < scatterLeast {
		return
	}
	d := time.Duration(math.Sqrt(s.squares/max(1, s.n)) * float64(time.Second))
	*s = scatter{rounds: s.rounds, value: s.value}
	if full {
		s.rounds = min(s.rounds+1, scatterPart)
		s.value += (d - s.value) / time.Duration(s.rounds)
	}
}

// known reports whether there was an estimate.
func (s *scatter) known() bool { return s.rounds > 0 }
