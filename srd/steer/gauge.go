package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// Gauge measures the congestion of the other end's paths to this host, and reports them one by
// one. It corresponds to CONGA's Congestion-From-Leaf table (section 3.3). The zero value of a
// Gauge is ready for use. A Gauge allocates memory only for paths on which packets arrived.
//
// A path's metric is the higher of two values, each in eighths from 0 to 7. The first is the
// one-way queueing delay towards this host, divided by twice the target queueing delay. The
// second is the share of packets with Congestion Experienced. The queueing delay is the time
// from the sender's stamp to the arrival, minus its minimum over the last seconds. The clocks of
// the two hosts need not agree, because their difference cancels in the subtraction of the
// minimum.
type Gauge struct {
	paths   []gaugePath // state of each path, by the sender's path number
	known   Set
	changed Set    // paths whose metric differs from the reported one
	said    uint32 // number of reports so far
	news    int    // next paths to report, among `changed` and among `known`
	turn    int
	stamped mono.Time // when a packet with a time stamp last arrived; 0: never
}

// gaugePath is the state of one path.
type gaugePath struct {
	aged
	said   uint8
	oneWay rtt.OneWay
	queue  float32 // smoothed queueing delay in us
	marks  float32 // share of marked packets, smoothed
}

const (
	// queueGain and markGain are the weights of a new packet in the means of the delay and of the
	// marks. DCTCP uses the same value as markGain (Alizadeh, SIGCOMM 2010, section 3.1).
	queueGain = 1.0 / 4
	markGain  = 1.0 / 16
	// wantedFor is how long reports continue after the last packet with a time stamp. A sender that
	// uses metrics stamps all its data packets.
	wantedFor = time.Second
	// One in steadyEvery reports covers the next path in turn, whether its metric has changed or
	// not. Otherwise constant changes on some paths would let the sender's metrics of the other
	// paths age.
	steadyEvery = 4
)

// Arrival describes one packet that arrived on a path.
type Arrival struct {
	CE      bool
	Stamped bool
	Sent    uint32 // with Stamped: the sender's clock in microseconds, modulo 2^32
}

// Arrived counts a packet on the sender's path p. The parameter `target` is the target queueing
// delay. A path with twice this delay has the highest metric.
func (g *Gauge) Arrived(now mono.Time, p int, a Arrival, target time.Duration) {
	if p < 0 || p >= MaxPaths || (!a.Stamped && !g.Wanted(now)) {
		return
	}
	for len(g.paths) <= p {
		g.paths = append(g.paths, gaugePath{})
	}
	q := &g.paths[p]
	g.known.Add(p)
	mark := float32(0)
	if a.CE {
		mark = 1
	}
	q.marks += markGain * (mark - q.marks)
	if a.Stamped {
		g.stamped = now
		q.queue += queueGain * (float32(q.oneWay.Add(now, a.Sent, now.Stamp())/time.Microsecond) - q.queue)
	}
	full := float64(2*target) / float64(time.Microsecond)
	q.aged = aged{metric: max(quantise(float64(q.queue), full), quantise(float64(q.marks), 1)), at: now}
	g.note(p)
}

// Write sets the metric of path p to a value from the network itself, in place of a measurement.
// Switches like CONGA's write the load of the busiest link into packets (section 3.1).
func (g *Gauge) Write(now mono.Time, p int, metric uint8) {
	if p < 0 || p >= len(g.paths) {
		return
	}
	g.paths[p].aged = aged{metric: min(metric, MetricMost), at: now}
	g.note(p)
}

func (g *Gauge) note(p int) {
	if q := &g.paths[p]; q.metric != q.said {
		g.changed.Add(p)
	} else {
		g.changed.Remove(p)
	}
}

// Wanted reports whether the sender uses metrics. A sender that uses metrics stamps its packets.
func (g *Gauge) Wanted(now mono.Time) bool {
	return g.stamped != 0 && now.Sub(g.stamped) <= wantedFor
}

// Feedback returns the report for the next packet to the sender: a path and its metric. The
// reports cover the paths in turn, and paths with a changed metric first (section 3.3). If the
// sender uses no metrics, Feedback returns false.
func (g *Gauge) Feedback(now mono.Time) (p int, metric uint8, ok bool) {
	if !g.Wanted(now) {
		return 0, 0, false
	}
	from, turn := &g.known, &g.turn
	if g.said++; !g.changed.Empty() && g.said%steadyEvery != 0 {
		from, turn = &g.changed, &g.news
	}
	if p = from.Next(*turn); p < 0 {
		p = from.Next(0)
	}
	*turn = p + 1
	q := &g.paths[p]
	// A metric that is reported again without a new measurement must age as it does at the
	// receiver of the report.
	metric = q.now(now)
	q.said = metric
	g.changed.Remove(p)
	return p, metric, true
}

// Reset clears all measurements, because the sender is a new process.
func (g *Gauge) Reset() { *g = Gauge{} }
