package steer

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Conga puts each flowlet on the least congested path (Alizadeh et al., SIGCOMM 2014, section
// 3). A path's congestion is the larger of two metrics. The local metric comes from this host's
// sending rate on the path. The other end measures and reports the remote metric.
//
// CONGA's switches write the load of every link into passing packets. Ordinary switches do not.
// So in srdtun the other end computes the remote metric from one-way queueing delays and ECN
// marks (see Gauge). Unlike a switch, a host does not know the rates of its links. If no rate is
// configured, the local metric of a path is the highest at the highest recent sending rate of
// any path.
type Conga struct {
	rng    *rand.Rand
	table  flowlets
	shape  dreShape
	fixed  float64 // value of a register at the configured rate; 0: no rate is configured
	full   float64 // highest recent value of any path's register
	faded  mono.Time
	local  [MaxPaths]dre
	remote [MaxPaths]aged // Congestion-To-Leaf table
	clock  mono.Time
}

// CongaConfig holds the parameters of Conga (section 3.6).
type CongaConfig struct {
	Timeout time.Duration // timeout of flowlets
	Alpha   float64       // parameter of the rate estimators, with Period
	Period  time.Duration
	Rate    float64 // rate of every path in bytes per second; 0: learned
}

const (
	// fullLeast is the least value of `full`, in bytes. Without it, a single packet would make a
	// path count as fully used.
	fullLeast = 2 * 1500
	// fullLife is the time after which the highest rate no longer counts. It is long compared with
	// pauses of traffic, and short compared with the time between changes of paths.
	fullLife = 10 * time.Second
)

// NewConga returns a Conga policy.
func NewConga(seed uint64, cfg CongaConfig) *Conga {
	c := &Conga{
		rng:   newRand(seed),
		table: flowlets{timeout: cfg.Timeout},
		shape: dreShape{alpha: cfg.Alpha, period: cfg.Period},
	}
	c.fixed = cfg.Rate * c.shape.tau()
	return c
}

// Scope implements Scoped.
func (c *Conga) Scope() Scope { return PerFlow }

// Pick implements Policy. The first packet of a flowlet decides, and the other packets of the
// flowlet follow it (section 3.5).
func (c *Conga) Pick(now mono.Time, usable *Set, ctx Context) int {
	c.clock = now
	if ctx.Repair {
		return c.best(now, usable, -1)
	}
	e, active := c.table.touch(now, ctx.Flow)
	if active && usable.Has(e.last()) {
		return e.last()
	}
	p := c.best(now, usable, e.last())
	e.path = uint16(p) + 1
	return p
}

// best returns the path with the lowest metric. If several paths have that metric, it returns a
// random one of them, or the flow's last path if that is one: a flow moves only to a better path
// (section 3.5).
func (c *Conga) best(now mono.Time, usable *Set, last int) int {
	var ties Set
	least := uint8(MetricMost + 1)
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		m := c.metric(now, p)
		if m < least {
			least, ties = m, Set{}
		}
		if m == least {
			ties.Add(p)
		}
	}
	if last >= 0 && ties.Has(last) {
		return last
	}
	return anyOf(c.rng, &ties)
}

// metric returns the congestion of path p, from 0 to MetricMost.
func (c *Conga) metric(now mono.Time, p int) uint8 {
	return max(c.localMetric(now, p), c.remote[p].now(now))
}

func (c *Conga) localMetric(now mono.Time, p int) uint8 {
	full := c.fixed
	if full == 0 {
		full = c.full
	}
	return quantise(c.local[p].at(now, &c.shape), full)
}

// Sent implements Sender.
func (c *Conga) Sent(now mono.Time, p int, _ uint32, n int) {
	c.local[p].add(now, n, &c.shape)
	if since := now.Sub(c.faded); since > 0 {
		c.full -= c.full * min(1, since.Seconds()/fullLife.Seconds())
		c.faded = now
	}
	c.full = max(c.full, c.local[p].x, fullLeast)
}

// Reported implements Remote.
func (c *Conga) Reported(now mono.Time, p int, metric uint8) {
	c.remote[p] = aged{metric: min(metric, MetricMost), at: now}
}

// Sample implements Policy.
func (c *Conga) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (c *Conga) Reset(p int) { c.local[p], c.remote[p] = dre{}, aged{} }

// Weight implements Policy. The weight of an idle path is 1, and that of a fully used path is 0.
func (c *Conga) Weight(p int) float64 {
	return 1 - float64(c.metric(c.clock, p))/MetricMost
}
