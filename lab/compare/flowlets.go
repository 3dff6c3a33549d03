package compare

import (
	"math"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Flowlets measures how flowlet sizes adapt to congestion (Vanini et al., Let It Flow, NSDI 2017,
// section 2). It counts the bytes that a flow sends on a path before it changes its path. Flowlets
// are grouped by the queueing delay that the path had when the flowlet began. LetFlow chooses paths
// at random, so flows on a path with a long queue do not differ from other flows. With n paths, one
// choice in n is the flow's current path. Then two flowlets count as one. The zero value of
// Flowlets is empty and ready to use.
type Flowlets struct {
	bins [flowletBins]flowletBin
}

// flowletBin counts the flowlets that began on paths within one range of queueing delay.
type flowletBin struct {
	ended int   // flowlets that ended by a move to another path
	bytes int64 // bytes of all flowlets, including those that ended with their flow or have not ended
}

// mean returns the mean number of bytes that a flow sends in one flowlet. The last flowlet of a
// flow counts with its bytes, but not as an ended flowlet, because the flow might have stayed on
// the path for longer. The result is the maximum-likelihood estimate if each byte is equally likely
// to be the last of its flowlet. The mean over ended flowlets alone would ignore the longest
// flowlets.
func (b *flowletBin) mean() float64 { return float64(b.bytes) / float64(b.ended) }

const (
	// flowletBins is the number of bins. Their upper limits are 10 us, 20 us, 40 us and so on, and
	// the last bin has no upper limit.
	flowletBins  = 8
	flowletFirst = 10 * time.Microsecond
	// Trains of fewer than ackTrain bytes are not counted. They are acknowledgements of an inner
	// connection, and too small to move any load.
	ackTrain = 500
	// queueGain is the weight of a new sample in a path's mean queueing delay.
	queueGain = 1.0 / 8
)

// bin returns the index of the bin for a queueing delay.
func bin(queue time.Duration) int {
	if queue < flowletFirst {
		return 0
	}
	return min(flowletBins-1, 1+int(math.Log2(float64(queue)/float64(flowletFirst))))
}

// flowletWatch wraps a LetFlow policy and counts its flowlets.
type flowletWatch struct {
	steer.Policy
	all   *Flowlets
	queue [steer.MaxPaths]time.Duration
	flows map[uint32]flowletUnder
}

// flowletUnder holds the path and the bin of a flow's current flowlet.
type flowletUnder struct{ path, bin int }

// watch returns a policy that acts as p does, and counts its flowlets.
func (a *Flowlets) watch(p steer.Policy) steer.Policy {
	return &flowletWatch{Policy: p, all: a, flows: map[uint32]flowletUnder{}}
}

// Scope implements steer.Scoped.
func (w *flowletWatch) Scope() steer.Scope { return steer.ScopeOf(w.Policy) }

// Sample implements steer.Policy.
func (w *flowletWatch) Sample(now mono.Time, p int, s steer.Sample) {
	w.queue[p] += time.Duration(queueGain * float64(s.Queue-w.queue[p]))
	w.Policy.Sample(now, p, s)
}

// Sent implements steer.Sender.
func (w *flowletWatch) Sent(_ mono.Time, p int, flow uint32, n int) {
	if n < ackTrain {
		return
	}
	u, known := w.flows[flow]
	if known && u.path != p {
		w.all.bins[u.bin].ended++
	}
	if !known || u.path != p {
		u = flowletUnder{p, bin(w.queue[p])}
		w.flows[flow] = u
	}
	w.all.bins[u.bin].bytes += int64(n)
}

// PlayFlowlets counts the flowlets of a cell that uses letflow or a similar policy.
func (c *Cell) PlayFlowlets(read func(string) ([]byte, error), progress func(float64)) (*Flowlets, error) {
	a := &Flowlets{}
	_, err := c.Run(read, Change(func(t *lab.TransportPlan) { t.Watch = a.watch }), progress)
	return a, err
}

// Change returns a change of a cell's plan that changes the transport.
func Change(change func(*lab.TransportPlan)) func(*lab.Plan) {
	return func(p *lab.Plan) {
		t := p.Transports["it"]
		change(&t)
		p.Transports["it"] = t
	}
}

// FlowletBin counts the flowlets that began on paths with at least the queueing delay From.
type FlowletBin struct {
	From  time.Duration
	Bytes int64
	Ended int
	Mean  float64 // mean number of bytes of a flowlet
}

// Bins returns the counters of each range of queueing delay in which flowlets have sent bytes.
func (a *Flowlets) Bins() (v []FlowletBin) {
	for i := range a.bins {
		if b := &a.bins[i]; b.bytes > 0 {
			from := flowletFirst << i / 2
			if i == 0 {
				from = 0
			}
			v = append(v, FlowletBin{From: from, Bytes: b.bytes, Ended: b.ended, Mean: b.mean()})
		}
	}
	return v
}
