package compare

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Flowlets measures how flowlet sizes adapt to congestion (Vanini et al., Let It Flow, NSDI 2017,
// section 2). The measurement counts the bytes that a flow sends on a path before the flow changes
// its path. Flowlets are grouped by the queueing delay of the path when the flowlet began. LetFlow
// draws paths at random, so flows on a path with a long queue are like other flows. With n paths,
// one draw in n returns the flow's current path. If a flow draws its current path again, two
// flowlets count as one. The zero value of Flowlets is empty and ready to use.
type Flowlets struct {
	bins [flowletBins]flowletBin
}

// flowletBin counts the flowlets that began on paths within one range of queueing delay.
type flowletBin struct {
	ended int   // flowlets that ended by a move to another path
	bytes int64 // of all flowlets, also of those that ended with their flow or are not over
}

// mean returns the mean number of bytes that a flow sends in one flowlet. A flow's last flowlet
// adds its bytes but no end, because the path might have kept the flow for longer. The mean is the
// maximum-likelihood estimate if each byte is equally likely to be the last. The mean over ended
// flowlets alone would ignore the longest flowlets.
func (b *flowletBin) mean() float64 { return float64(b.bytes) / float64(b.ended) }

// Add adds the counters of another run.
func (a *Flowlets) Add(o *Flowlets) {
	for i, b := range o.bins {
		a.bins[i].ended += b.ended
		a.bins[i].bytes += b.bytes
	}
}

const (
	// flowletBins is the number of bins, whose upper limits are 10, 20, 40 .. us. The last bin has
	// no upper limit.
	flowletBins  = 8
	flowletFirst = 10 * time.Microsecond
	// ackTrain is larger than a burst of acknowledgements of an inner connection, in bytes. A burst
	// of acknowledgements is too small a flowlet to move any load.
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

// watch wraps the policy p to count its flowlets.
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
	p, err := c.Plan(read)
	if err != nil {
		return nil, err
	}
	a := &Flowlets{}
	t := p.Transports["it"]
	t.Watch = a.watch
	p.Transports["it"] = t
	_, err = lab.Run(p, &p.Cases[0], lab.Ideal, c.Seed, progress)
	return a, err
}

// Table prints, for each range of queueing delay, the number of ended flowlets and their mean size.
func (a *Flowlets) Table(w io.Writer) {
	fmt.Fprint(w, "| queue of the path | MB sent | flowlets ended | size, KB |\n|---|---|---|---|\n")
	for i := range a.bins {
		b := &a.bins[i]
		if b.bytes == 0 {
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
		size := "none ended"
		if b.ended > 0 {
			size = fmt.Sprintf("%.0f", b.mean()/1e3)
		}
		fmt.Fprintf(w, "| %s | %.0f | %d | %s |\n", label, float64(b.bytes)/1e6, b.ended, size)
	}
}
