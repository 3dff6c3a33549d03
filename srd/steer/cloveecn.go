package steer

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// cloveCut is the part of a path's weight that remains after a mark.
	cloveCut = 2.0 / 3
	// cloveLeast is the smallest weight. Every path keeps some traffic, so that marks on the
	// path, or their absence, are still observed. The mean of all weights is 1.
	cloveLeast = 1.0 / 64
)

// CloveECN assigns flowlets to paths in turn, by weights that it learns from ECN marks (Katta et
// al., CoNEXT 2017, "Clove-ECN"). A path on which the other end received marked packets
// (Congestion Experienced) loses a third of its weight, which the paths without recent marks
// share. A path loses weight at most once per round trip. In a network that does not mark
// packets, all paths get equally many flowlets.
type CloveECN struct {
	turns
	rng   *rand.Rand
	table flowlets
	known Set
	cut   [MaxPaths]mono.Time // when a mark last cut a path's weight
}

// NewCloveECN returns a CloveECN policy.
func NewCloveECN(seed uint64, timeout time.Duration) *CloveECN {
	return &CloveECN{rng: newRand(seed), table: flowlets{timeout: timeout}}
}

// Scope implements Scoped.
func (c *CloveECN) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (c *CloveECN) Pick(now mono.Time, usable *Set, ctx Context) int {
	if news := usable.Without(c.known); !news.Empty() {
		for p := news.Next(0); p >= 0; p = news.Next(p + 1) {
			// The credit starts at a random value, so that different hosts do not use the paths in the
			// same order.
			c.weight[p], c.credit[p] = 1, c.rng.Float32()
			c.known.Add(p)
		}
	}
	if ctx.Repair {
		return c.next(usable)
	}
	e, active := c.table.touch(now, ctx.Flow)
	if active && usable.Has(e.last()) {
		return e.last()
	}
	p := c.next(usable)
	e.path = uint16(p) + 1
	return p
}

// Sample implements Policy.
func (c *CloveECN) Sample(now mono.Time, p int, s Sample) {
	if !s.CE || !c.known.Has(p) || (c.cut[p] != 0 && now.Sub(c.cut[p]) < s.RTT) {
		return
	}
	c.cut[p] = now
	var calm Set
	for q := c.known.Next(0); q >= 0; q = c.known.Next(q + 1) {
		if c.cut[q] == 0 || now.Sub(c.cut[q]) >= s.RTT {
			calm.Add(q)
		}
	}
	calm.Remove(p) // needed as long as no round trip was measured
	if calm.Empty() {
		return // all paths are congested
	}
	rest := max(cloveLeast, c.weight[p]*cloveCut)
	share := (c.weight[p] - rest) / float32(calm.Len())
	c.weight[p] = rest
	for q := calm.Next(0); q >= 0; q = calm.Next(q + 1) {
		c.weight[q] += share
	}
}

// Reset implements Policy. The path gets weight 1 at its next use. The other paths share the
// difference to its old weight.
func (c *CloveECN) Reset(p int) {
	if !c.known.Has(p) {
		return
	}
	c.known.Remove(p)
	n := c.known.Len()
	for q := c.known.Next(0); q >= 0; q = c.known.Next(q + 1) {
		c.weight[q] = max(cloveLeast, c.weight[q]+(c.weight[p]-1)/float32(n))
	}
	c.weight[p], c.credit[p], c.cut[p] = 0, 0, 0
}

// Weight implements Policy.
func (c *CloveECN) Weight(p int) float64 {
	most := float32(cloveLeast)
	for q := c.known.Next(0); q >= 0; q = c.known.Next(q + 1) {
		most = max(most, c.weight[q])
	}
	return float64(c.weight[p] / most)
}
