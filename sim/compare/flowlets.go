package compare

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/srdtun/srdtun/sim/lab"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Flowlets is the elasticity of flowlets (LetFlow, section 2): how large they are on
// paths with how long a queue. A flowlet is what a flow sends on a path until it is
// given another; LetFlow gives it the same again by chance once in as many times as
// there are paths, and then two count as one.
type Flowlets struct {
	bins [flowletBins]flowletBin
}

type flowletBin struct {
	count int
	bytes float64
}

const (
	// flowletBins are those of queues below 10, 20, 40 .. us, and the rest.
	flowletBins  = 8
	flowletFirst = 10 * time.Microsecond
	// ackTrain is more than a train of acknowledgements of inner connections, which
	// are no flowlets that would move a load.
	ackTrain = 500
	// queueGain is the weight of a sample in a path's mean.
	queueGain = 1.0 / 8
)

// bin returns the number of a queue's bin.
func bin(queue time.Duration) int {
	if queue < flowletFirst {
		return 0
	}
	return min(flowletBins-1, 1+int(math.Log2(float64(queue)/float64(flowletFirst))))
}

// flowletWatch is a LetFlow that is watched.
type flowletWatch struct {
	steer.Policy
	all   *Flowlets
	queue [steer.MaxPaths]time.Duration
	flows map[uint32]*flowletUnder
}

// flowletUnder is the flowlet that a flow is in.
type flowletUnder struct {
	path  int
	queue time.Duration // sum over trains
	n     int
	bytes int
}

// watch returns p watched.
func (a *Flowlets) watch(p steer.Policy) steer.Policy {
	return &flowletWatch{Policy: p, all: a, flows: map[uint32]*flowletUnder{}}
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
	u := w.flows[flow]
	if u == nil {
		u = &flowletUnder{path: p}
		w.flows[flow] = u
	}
	if u.path != p {
		b := &w.all.bins[bin(u.queue/time.Duration(u.n))]
		b.count++
		b.bytes += float64(u.bytes)
		*u = flowletUnder{path: p}
	}
	u.n++
	u.bytes += n
	u.queue += w.queue[p]
}

// PlayFlowlets measures the flowlets of a cell whose system is letflow, or has its
// form. The last flowlet of each flow, which ends with it, does not count.
func (c *Cell) PlayFlowlets(read func(string) ([]byte, error), progress func(float64)) (*Flowlets, error) {
	p, err := c.Plan(read)
	if err != nil {
		return nil, err
	}
	a := &Flowlets{}
	t := p.Transports["it"]
	t.Watch = a.watch
	p.Transports["it"] = t
	_, err = lab.Run(p, &p.Cases[0], c.Seed, progress)
	return a, err
}

// Table writes how many flowlets there were, and their mean size, by the queue of
// their path.
func (a *Flowlets) Table(w io.Writer) {
	fmt.Fprint(w, "| queue of the path | flowlets | mean size, KB |\n|---|---|---|\n")
	for i, b := range a.bins {
		if b.count == 0 {
			continue
		}
		from, to := flowletFirst<<i/2, flowletFirst<<i
		label := fmt.Sprintf("%v to %v", from, to)
		switch i {
		case 0:
			label = fmt.Sprintf("below %v", to)
		case flowletBins - 1:
			label = fmt.Sprintf("%v and more", from)
		}
		fmt.Fprintf(w, "| %s | %d | %.1f |\n", label, b.count, b.bytes/float64(b.count)/1e3)
	}
}
