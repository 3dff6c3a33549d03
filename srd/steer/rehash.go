package steer

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// RehashConfig sets when a flow changes its path.
type RehashConfig struct {
	// Threshold is the share of marked samples that makes a round trip congested.
	Threshold float64
	// Rounds is the number of congested rounds in a row after which a flow changes its path.
	Rounds int
	// IdleRounds is the number of congested rounds for a flow that has paused for a round trip.
	// An IdleRounds of zero means the same number as Rounds.
	IdleRounds int
}

// Rehash keeps each flow on one path until the path was congested for some round trips. The flow
// then moves to a random other path. PLB and FlowBender are two settings of Rehash.
//
// The papers on PLB and FlowBender count marks for each connection, which has its own
// acknowledgements. In srdtun all flows on a path share its acknowledgements. So Rehash counts
// rounds for each path, and a flow counts the rounds since it moved to the path. In each
// congested round only one flow leaves the path. Otherwise all flows would leave at once and
// meet again on another path. A sample counts as marked if it has Congestion Experienced, or a
// queue above the target, because many networks do not mark packets.
type Rehash struct {
	cfg    RehashConfig
	rng    *rand.Rand
	target time.Duration
	paths  [MaxPaths]rounds
	flows  []rehashFlow
}

// rounds counts a path's consecutive congested round trips.
type rounds struct {
	end          mono.Time // end of the current round; 0: none yet
	seen, marked uint32    // samples in the current round
	bad          uint32    // congested rounds in a row
	all          uint32    // number of rounds so far
	rtt          time.Duration
}

type rehashFlow struct {
	path   uint16 // plus 1; 0: none yet
	joined uint32 // the path's rounds.all when the flow joined it
	last   mono.Time
}

// NewRehash returns a Rehash policy.
func NewRehash(seed uint64, cfg RehashConfig) *Rehash {
	return &Rehash{cfg: cfg, rng: newRand(seed)}
}

// Scope implements Scoped.
func (r *Rehash) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (r *Rehash) Pick(now mono.Time, usable *Set, c Context) int {
	r.target = c.Target
	if c.Repair {
		return anyOf(r.rng, usable)
	}
	if r.flows == nil {
		r.flows = make([]rehashFlow, flowSlots)
	}
	f := &r.flows[c.Flow%flowSlots]
	p, last := int(f.path)-1, f.last
	f.last = now
	switch {
	case p < 0 || !usable.Has(p):
		p = anyOf(r.rng, usable)
	case r.leaves(now, &r.paths[p], f, last):
		r.paths[p].bad--
		p = otherThan(r.rng, usable, p)
	default:
		return p
	}
	f.path, f.joined = uint16(p)+1, r.paths[p].all
	return p
}

// leaves reports whether a flow changes its path.
func (r *Rehash) leaves(now mono.Time, w *rounds, f *rehashFlow, last mono.Time) bool {
	bad := int(min(w.bad, w.all-f.joined))
	paused := w.rtt > 0 && now.Sub(last) > w.rtt
	return bad >= r.cfg.Rounds || (r.cfg.IdleRounds > 0 && paused && bad >= r.cfg.IdleRounds)
}

// Sample implements Policy.
func (r *Rehash) Sample(now mono.Time, p int, s Sample) {
	w := &r.paths[p]
	w.rtt = s.RTT
	if now >= w.end {
		w.finish(r.cfg.Threshold)
		w.end = now.Add(s.RTT)
	}
	w.seen++
	if s.CE || (r.target > 0 && s.Queue > r.target) {
		w.marked++
	}
}

// finish ends a round trip.
func (w *rounds) finish(threshold float64) {
	if w.seen == 0 {
		return
	}
	if w.all++; float64(w.marked) >= threshold*float64(w.seen) {
		w.bad++
	} else {
		w.bad = 0
	}
	w.seen, w.marked = 0, 0
}

// Reset implements Policy.
func (r *Rehash) Reset(p int) { r.paths[p] = rounds{all: r.paths[p].all} }

// Weight implements Policy. The weight is the share of the congested rounds that are still
// missing until flows leave the path.
func (r *Rehash) Weight(p int) float64 {
	return 1 - min(1, float64(r.paths[p].bad)/float64(r.cfg.Rounds))
}
