package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// Gauge measures how congested the other end's paths to us are, and says so in
// turn: it is CONGA's Congestion-From-Leaf table (section 3.3). The zero value is
// ready; it takes memory for the paths that packets came on.
//
// A path's metric is the higher of two, each in eighths: its queueing delay in our
// direction, as a share of twice the target; and its share of packets with
// Congestion Experienced. The delay is the time from the sender's stamp to the
// arrival, less the least of the last seconds; the two clocks need not agree, as
// their difference is in both.
type Gauge struct {
	paths   []gaugePath // by path number of the sender's
	known   Set
	changed Set    // metrics that are not what was last said
	said    uint32 // pairs so far
	news    int    // the next turns, among changed and among known
	turn    int
	stamped mono.Time // when a stamp was last seen; 0: never
}

// gaugePath is what is known of one path.
type gaugePath struct {
	aged
	said  uint8
	way   rtt.OneWay
	queue float32 // in us, smoothed
	marks float32 // share of packets marked, smoothed
}

// Constants of measuring.
const (
	// queueGain and markGain are the weight of a new packet in the two means;
	// that of marks is DCTCP's (Alizadeh, SIGCOMM 2010, section 3.1).
	queueGain = 1.0 / 4
	markGain  = 1.0 / 16
	// wantedFor is how long after the last stamp the sender is told: stamps are
	// in all its data.
	wantedFor = time.Second
	// steadyEvery so many pairs one is of whichever path's turn it is. Were there
	// always news of some, the sender would see the others grow old.
	steadyEvery = 4
)

// Arrival is one packet that came on a path.
type Arrival struct {
	CE      bool
	Stamped bool
	Sent    uint32 // with Stamped: the sender's clock in microseconds, modulo 2^32
}

// Arrived counts a packet on path p of the sender's. target is the queueing delay
// aimed for: twice as much is a full path.
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
		q.queue += queueGain * (float32(q.way.Add(now, a.Sent, now.Stamp())/time.Microsecond) - q.queue)
	}
	full := float64(2*target) / float64(time.Microsecond)
	q.aged = aged{metric: max(quantise(float64(q.queue), full), quantise(float64(q.marks), 1)), at: now}
	g.note(p)
}

// Write takes the metric of path p from the network itself, where its switches
// write the load of the busiest link into the packet as CONGA's do (section 3.1).
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

// Wanted reports whether the sender makes use of metrics: it stamps its packets.
func (g *Gauge) Wanted(now mono.Time) bool {
	return g.stamped != 0 && now.Sub(g.stamped) <= wantedFor
}

// Feedback returns what the next packet to the sender should say: one path, and
// how congested it is. Paths take turns; those come first whose metric is not what
// was last said of it (section 3.3). It returns false when nobody wants to know.
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
	// What is said again and again must grow old here as it does there.
	metric = q.now(now)
	q.said = metric
	g.changed.Remove(p)
	return p, metric, true
}

// Reset forgets everything: the sender is another process.
func (g *Gauge) Reset() { *g = Gauge{} }
