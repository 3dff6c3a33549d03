package cc

import (
	"math"
	"time"
)

const (
	// scatterLeast is the least number of samples for an estimate. With 16 samples the
	// error of an estimate is a sixth.
	scatterLeast = 16
	// scatterPart: a new estimate has the weight 1/8. The first estimates have equal
	// weights.
	scatterPart = 8
)

// scatter measures random differences of round trips: the root mean square of Ack.Residual over a
// round.
type scatter struct {
	n, squares float64       // of seconds
	rounds     int           // up to scatterPart
	value      time.Duration // smoothed
}

// add adds a residual: a distance from the line.
func (s *scatter) add(residual time.Duration) {
	s.n++
	s.squares += residual.Seconds() * residual.Seconds()
}

// endRound makes an estimate if there are enough samples. Too few samples stay for the
// next round. In a round that was not full, a queue that fills and drains causes the
// distances, so the samples are dropped.
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
