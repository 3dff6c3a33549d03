package cc

import (
	"math"
	"time"
)

const (
	// scatterLeast is the least number of samples for an estimate. With 16 samples the standard
	// error of an estimate is a sixth of it.
	scatterLeast = 16
	// scatterPart: a new estimate has the weight 1/8. The first estimates have equal
	// weights.
	scatterPart = 8
)

// scatter measures random differences of round trips: the root mean square of Ack.Residual over a
// round.
type scatter struct {
	n, squares float64       // number of samples, and sum of their squares in seconds squared
	rounds     int           // number of estimates, at most scatterPart
	value      time.Duration // smoothed
}

// add adds a sample: the distance of a round trip from the straight line.
func (s *scatter) add(residual time.Duration) {
	s.n++
	s.squares += residual.Seconds() * residual.Seconds()
}

// endRound makes an estimate if there are enough samples. Otherwise the samples are kept for the
// next round. If the window was not full in the round, its samples are dropped, because a queue
// that fills and drains may have caused the distances.
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

// known reports whether there is an estimate.
func (s *scatter) known() bool { return s.rounds > 0 }
