package steer

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// LetFlow puts each flowlet on a random path (Vanini et al., NSDI 2017, section 3). LetFlow
// makes no measurements. On a congested path a flow has more gaps, and so shorter flowlets. So
// flows leave a congested path sooner than other paths.
type LetFlow struct {
	rng   *rand.Rand
	table flowlets
}

// NewLetFlow returns a LetFlow policy. A gap between one and two timeouts ends a flowlet.
func NewLetFlow(seed uint64, timeout time.Duration) *LetFlow {
	return &LetFlow{rng: newRand(seed), table: flowlets{timeout: timeout}}
}

// Scope implements Scoped.
func (l *LetFlow) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (l *LetFlow) Pick(now mono.Time, usable *Set, c Context) int {
	if c.Repair {
		return anyOf(l.rng, usable)
	}
	e, active := l.table.touch(now, c.Flow)
	if active && usable.Has(e.last()) {
		return e.last()
	}
	p := anyOf(l.rng, usable)
	e.path = uint16(p) + 1
	return p
}

// Sample implements Policy.
func (l *LetFlow) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (l *LetFlow) Reset(int) {}

// Weight implements Policy.
func (l *LetFlow) Weight(int) float64 { return 1 }
