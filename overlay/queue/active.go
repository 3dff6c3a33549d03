package queue

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// active estimates how many flows the frames that leave the queue belong to, weighted by their
// bytes. A flow with a thousandth of the bytes, such as a flow of acknowledgements, adds almost
// nothing. The count is (sum of bytes)^2 / sum of (bytes^2), the inverse of Simpson's index. If all
// flows are equal, the count is their number.
type active struct {
	since        mono.Time
	period       uint32
	sum, squares float64 // of this period: sum of the flows' bytes, and of their squares
	count        float64 // result for the last complete period
}

// add counts n bytes of a flow that leave the queue. A period is as long as the longest common
// round trip (the CoDel interval). So a flow that is waiting for an acknowledgement still counts.
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
