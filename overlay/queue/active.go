package queue

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// active counts the flows that what is handed out is made of. One that has a thousandth
// of the bytes, such as acknowledgements, is next to none: the count is that of equal
// flows with the same sum of squares, (sum of bytes)^2 / sum of (bytes^2), the inverse of
// Simpson's index.
type active struct {
	since        mono.Time
	period       uint32
	sum, squares float64 // bytes of this period
	count        float64 // of the last whole one
}

// add takes n bytes of a flow. A period is as long as a round trip may be, so that a flow
// that waits for acknowledgements counts.
func (a *active) add(now mono.Time, fl *flow, n int, period time.Duration) {
	if now.Sub(a.since) > period {
		a.count, a.sum, a.squares = a.equal(), 0, 0
		a.since, a.period = now, a.period+1
	}
	if fl.period != a.period {
		fl.period, fl.sent = a.period, 0
	}
	x := float64(n)
	a.sum += x
	a.squares += x * (2*fl.sent + x)
	fl.sent += x
}

// equal returns the count of the running period.
func (a *active) equal() float64 {
	if a.squares == 0 {
		return 0
	}
	return a.sum * a.sum / a.squares
}

// Flows returns how many flows have lately been served, as equal flows.
func (q *Queue) Flows() int { return int(math.Round(max(q.active.count, q.active.equal()))) }
