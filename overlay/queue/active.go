package queue

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// active counts the flows among the frames that leave the queue, weighted by their bytes. A flow
// with a thousandth of the bytes, such as acknowledgements, counts for almost nothing. The count
// is (sum of bytes)^2 / sum of (bytes^2), the inverse of Simpson's index. If all flows are
// equal, the count is their number.
type active struct {
	since        mono.Time
	period       uint32
	sum, squares float64 // bytes of this period
	count        float64 // of the last whole period
}

// add counts n bytes of a flow that leave the queue. A period lasts as long as the longest usual
// round trip, so that a flow between two acknowledgements still counts.
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

// equal returns the weighted number of flows in the current period.
func (a *active) equal() float64 {
	if a.squares == 0 {
		return 0
	}
	return a.sum * a.sum / a.squares
}

// Flows returns the number of recently served flows, weighted by their bytes.
func (q *Queue) Flows() int { return int(math.Round(max(q.active.count, q.active.equal()))) }
