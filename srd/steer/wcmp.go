package steer

import (
	"math"

	"github.com/srdtun/srdtun/srd/mono"
)

// WCMP is ECMP with weights (Zhou et al., EuroSys 2014). Each path gets a share of the flows in
// proportion to its weight. The paper's switches repeat a path in a table in proportion to its
// weight. In srdtun each path's hash, as a number between 0 and 1, is raised to the power of
// 1/weight, and the path with the highest result is used. This gives the same shares as a table
// (Efraimidis and Spirakis, IPL 2006). A flow stays on a path as long as the path works.
type WCMP struct {
	classes
	seed uint64
}

// NewWCMP returns a WCMP policy. The weights are for classes of paths.
func NewWCMP(seed uint64, weights []int) *WCMP {
	return &WCMP{seed: seed, classes: classes{weights: weights}}
}

// Scope implements Scoped.
func (w *WCMP) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (w *WCMP) Pick(_ mono.Time, usable *Set, c Context) int {
	best, most := -1, 0.0
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		// The value u is above 0 and below 1, from the hash's upper 52 bits.
		u := (float64(mix(w.seed, c.Flow, p)>>12) + 0.5) / (1 << 52)
		if v := math.Log(u) / w.weightOf(p); best < 0 || v > most {
			best, most = p, v
		}
	}
	return best
}

// Sample implements Policy.
func (w *WCMP) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (w *WCMP) Reset(int) {}

// Weight implements Policy.
func (w *WCMP) Weight(p int) float64 { return w.relative(p) }
