package steer

import "github.com/srdtun/srdtun/srd/mono"

// DefaultFlowcell is the size of Presto's flowcells in bytes: the largest segment of
// segmentation offload.
const DefaultFlowcell = 64 << 10

// Presto cuts flows into flowcells of 64 KB, and assigns the flowcells to the paths in turn, by
// weight (He et al., SIGCOMM 2015, section 3). Weights are for asymmetric networks. Presto makes
// no measurements. In the paper each flow has its own sequence of paths. In srdtun all flows to
// a peer share one sequence, so two flows never use the same path at the same time again and
// again.
type Presto struct {
	classes
	turns
	cell  int
	known Set
	flows []flowcell
}

// flowcell is the current flowcell of a flow.
type flowcell struct {
	path  uint16 // path, plus one; 0: none yet
	bytes uint32
}

// NewPresto returns a Presto policy. The parameter `cell` is in bytes, and weights are for
// classes of paths.
func NewPresto(weights []int, cell int) *Presto {
	return &Presto{classes: classes{weights: weights}, cell: cell}
}

// Scope implements Scoped.
func (s *Presto) Scope() Scope { return PerFlow }

// Pick implements Policy.
func (s *Presto) Pick(_ mono.Time, usable *Set, c Context) int {
	if news := usable.Without(s.known); !news.Empty() {
		for p := news.Next(0); p >= 0; p = news.Next(p + 1) {
			s.known.Add(p)
			s.weight[p] = float32(s.weightOf(p))
		}
	}
	if c.Repair {
		return s.next(usable)
	}
	if s.flows == nil {
		s.flows = make([]flowcell, flowSlots)
	}
	f := &s.flows[c.Flow%flowSlots]
	if p := int(f.path) - 1; p >= 0 && usable.Has(p) && (f.bytes == 0 || int(f.bytes)+c.Bytes <= s.cell) {
		return p
	}
	p := s.next(usable)
	*f = flowcell{path: uint16(p) + 1}
	return p
}

// Sent implements Sender.
func (s *Presto) Sent(_ mono.Time, p int, flow uint32, n int) {
	if s.flows == nil {
		return
	}
	if f := &s.flows[flow%flowSlots]; int(f.path) == p+1 {
		f.bytes += uint32(n)
	}
}

// Sample implements Policy.
func (s *Presto) Sample(mono.Time, int, Sample) {}

// Reset implements Policy.
func (s *Presto) Reset(p int) {
	s.known.Remove(p)
	s.credit[p] = 0
}

// Weight implements Policy.
func (s *Presto) Weight(p int) float64 { return s.relative(p) }
