package cc

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// together lets controllers share a link of lineRate for so many round trips, each of
// which takes least of them for the round trip without a queue. It returns the mean
// windows in the second half, and the queue.
func together(rounds int, least ...time.Duration) (mean []float64, queue time.Duration) {
	var v []*SRD
	for range least {
		c := fine(lineRate)
		c.slowStart = false
		v = append(v, c)
	}
	mean = make([]float64, len(v))
	now := mono.Time(1)
	for i := range rounds {
		total := 0.0
		for _, c := range v {
			total += c.window
		}
		rtt := max(fineBase, time.Duration(total/lineRate*1e9))
		for k, c := range v {
			n := max(1, c.Window()/MSS)
			for j := range n {
				c.Ack(now.Add(rtt*time.Duration(j+1)/time.Duration(n)), Ack{Bytes: MSS, RTT: rtt, Base: least[k], Empty: least[k]}, true)
			}
			if i >= rounds/2 {
				mean[k] += c.window / float64(rounds-rounds/2)
			}
		}
		now = now.Add(rtt)
		queue = rtt - fineBase
	}
	return mean, queue
}

// Who takes the way for a little shorter than the others meets a longer queue, by what it
// measures, all the time. It gets less for that, but its share does not shrink without end.
func TestUnlikeBasesShareALink(t *testing.T) {
	const half = fineBase / 28 // half a microsecond
	mean, _ := together(4000, fineBase-half, fineBase, fineBase, fineBase+half)
	if r := mean[3] / mean[0]; r > 1.6 {
		t.Errorf("windows %.0f: the largest is %.2f times the smallest", mean, r)
	}
}

// The more there are the longer the queue is, within the bound.
func TestQueueOfMany(t *testing.T) {
	longest := time.Duration(0)
	for _, n := range []int{1, 2, 8, 32} {
		least := make([]time.Duration, n)
		for i := range least {
			least[i] = fineBase
		}
		_, queue := together(400, least...)
		if queue < longest {
			t.Errorf("queue %v of %d, %v of fewer", queue, n, longest)
		}
		longest = max(longest, queue)
	}
	if most := (2 + goalMost) * fineBase; longest < 2*fineBase || longest > most {
		t.Errorf("queue %v, want it between two and %d targets", longest, 2+goalMost)
	}
}

// A round in which a queue far too long is met ends with the window that what arrived in
// it needs, however little that is of what was sent.
func TestWindowAdaptsToWhatArrives(t *testing.T) {
	const trip = 8 * fineBase
	for _, part := range []int{40, 4, 1} {
		c, now := fine(lineRate), mono.Time(1)
		c.slowStart, c.srtt = false, trip
		n := c.Window() / MSS / part
		need := float64(n*MSS) / trip.Seconds() * (fineBase + c.goal()).Seconds()
		for i := range n + 1 {
			c.Ack(now.Add(trip*time.Duration(i)/time.Duration(n)), Ack{Bytes: MSS, RTT: trip, Base: fineBase, Empty: fineBase}, true)
		}
		if need = max(MinWindow, need); c.window < need || c.window > 1.3*need {
			t.Errorf("window %.0f when one part in %d arrives, want %.0f", c.window, part, need)
		}
	}
}

// A queue that is not far too long is answered in steps, whatever arrives.
func TestWindowShrinksInStepsOtherwise(t *testing.T) {
	const trip = 3 * fineBase
	c, now := fine(lineRate), mono.Time(1)
	c.slowStart, c.srtt = false, trip
	before := c.window
	for i := range 5 {
		c.Ack(now.Add(trip*time.Duration(i)/4), Ack{Bytes: MSS, RTT: trip, Base: fineBase, Empty: fineBase}, true)
	}
	if c.window < maxDecrease*before || c.window >= before {
		t.Errorf("window from %.0f to %.0f", before, c.window)
	}
}
