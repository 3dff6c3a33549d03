package steer

import "github.com/srdtun/srdtun/srd/mono"

// ECMP puts each flow on one path by a hash, as routers do (RFC 2992). ECMP is the baseline for
// comparisons of the other policies. The path is the usable one with the highest hash of flow
// and path together (Thaler and Ravishankar, IEEE/ACM ToN 1998). So a flow moves only when its
// path fails or a new path has a higher hash.
type ECMP struct{ seed uint64 }

// NewECMP returns an ECMP policy, whose hash has the given seed.
func NewECMP(seed uint64) *ECMP { return &ECMP{seed: seed} }

// Scope implements Scoped.
func (e *ECMP) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (e *ECMP) Pick(_ mono.Time, usable *Set, c Context) int {
	best, most := -1, uint64(0)
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		if h := mix(e.seed, c.Flow, p); best < 0 || h > most {
			best, most = p, h
		}
	}
	return best
}

// Sample implements Policy.
func (e *ECMP) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (e *ECMP) Reset(int) {}

// Weight implements Policy.
func (e *ECMP) Weight(int) float64 { return 1 }
