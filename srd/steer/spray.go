package steer

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// minWeight is the lower bound of a path's standing weight, and of the share that its queue
	// leaves: one turn in 64. So every usable path is still sampled, and the samples show when a
	// long queue has drained.
	minWeight = 1.0 / 64
	// A path gets half of its turns if its queue exceeds the mean by 1/halfPart of a round trip, or
	// by halfGranules times Options.Granularity if that is more. A queue is measured only a round
	// trip later, and this control loop has a gain of halfPart/2 per round trip. With a gain above
	// pi/2 the loop would oscillate for ever. An excess below halfGranules granules may come from
	// the hosts' timers.
	halfPart     = 4
	halfGranules = 2
	// learn is the gain by which a path's standing weight follows the difference between the mean
	// queue and its own, per round trip of the path. The standing weight changes slowly, because a
	// single sample is mostly noise. The skipping of turns responds at once.
	learn = 0.1
	// mostSpan bounds the effect of one sample on a rarely used path, in round trips.
	mostSpan = 4
	// leak is the part of its distance to 1 by which a standing weight moves towards 1 in each
	// round trip. The queue of a link depends only on the sum over the paths on it. So without the
	// leak the weights of these paths would drift apart until a few paths carry all packets.
	leak = 0.002
	// mostRounds bounds the rounds over all paths for one choice.
	mostRounds = 8
	// almostOne is less than one turn by slightly more than float32's rounding error.
	almostOne = 1 - 1.0/1024
	// meanShift is the binary logarithm of the number of samples over which the mean queue is
	// computed (2^7).
	meanShift = 7
)

// Spray is SRD's policy: every packet may take every path. A cursor visits all paths, in a new
// random order each round. The cursor skips a path in proportion to its queue.
//
// Two terms keep the queues of all paths equal, as in a proportional-integral controller. The
// first term skips turns of a path according to the present excess of its queue over the mean.
// It responds to a collision within a round trip (SRD, "Multipath Load Balancing": overloaded
// paths are avoided by the RTT of each). The second term is the standing weight, which learns
// how much traffic a path can carry. Links get uneven numbers of source ports: of 32 ports, one
// of four links may get 4 and another 11. Paths may also have unequal rates. Skipping alone
// would leave the links with few ports idle.
type Spray struct {
	rng   *rand.Rand
	grain time.Duration // Options.Granularity
	paths []sprayPath   // by path number, up to the highest one used so far
	order []uint8       // members of `known`, in the order of this round
	known Set
	at    int
	mean  time.Duration // queueing delay and distance, smoothed over all samples
	rtt   time.Duration // round trip, smoothed over all samples
	heard bool          // there was a sample
	copying
}

type sprayPath struct {
	weight float32       // standing weight
	credit float32       // saved turns; using a turn costs 1
	queue  time.Duration // queueing delay and distance of the last sample
	at     mono.Time     // time of queue
	ends   ends
}

// NewSpray returns a spraying policy. The seed sets the order of turns.
func NewSpray(seed uint64) *Spray { return newSpray(seed, mono.Granularity) }

func newSpray(seed uint64, granularity time.Duration) *Spray {
	return &Spray{rng: rand.New(rand.NewPCG(seed, 0x5eed)), grain: granularity}
}

// minTable is the initial size of the table of paths: the number of paths from the default
// source ports of a program to one address. It is small, because a program may have a thousand
// peers.
const minTable = 16

// path returns the state of path p. The table of paths grows on demand, so a peer without a
// connection has no table.
func (s *Spray) path(p int) *sprayPath {
	if p >= len(s.paths) {
		old := s.paths
		s.paths = make([]sprayPath, min(MaxPaths, max(minTable, 2*len(old), p+1)))
		for i := copy(s.paths, old); i < len(s.paths); i++ {
			s.paths[i].weight = 1
		}
	}
	return &s.paths[p]
}

// Reset implements Policy.
func (s *Spray) Reset(p int) { *s.path(p) = sprayPath{weight: 1, ends: s.path(p).ends} }

// Weight implements Policy.
func (s *Spray) Weight(p int) float64 {
	if p >= len(s.paths) {
		return 1
	}
	return float64(s.paths[p].weight)
}

// Pick implements Policy.
func (s *Spray) Pick(now mono.Time, usable *Set, c Context) int {
	if news := usable.Without(s.known); !news.Empty() {
		s.admit(usable)
	}
	for range mostRounds * len(s.order) {
		if s.at == len(s.order) {
			s.shuffle()
		}
		p := int(s.order[s.at])
		s.at++
		if !usable.Has(p) {
			continue
		}
		sp := &s.paths[p]
		if sp.credit += sp.weight * s.now(sp, now); sp.credit >= 1 {
			sp.credit--
			return p
		}
	}
	return s.forward(now, usable)
}

// forward computes the rounds until the first usable path has a whole turn, in one step, and
// returns that path. Pick calls forward() if all paths have low weights.
func (s *Spray) forward(now mono.Time, usable *Set) int {
	first, rounds := usable.First(), float32(math.MaxFloat32)
	for _, p := range s.order {
		sp := &s.paths[p]
		if !usable.Has(int(p)) {
			continue
		}
		if n := (1 - sp.credit) / (sp.weight * s.now(sp, now)); n < rounds {
			first, rounds = int(p), n
		}
	}
	for _, p := range s.order {
		sp := &s.paths[p]
		if !usable.Has(int(p)) {
			continue
		}
		// Rounding errors must not give another path a whole turn.
		sp.credit = min(almostOne, sp.credit+rounds*sp.weight*s.now(sp, now))
	}
	s.paths[first].credit = 0
	return first
}

// now returns the share of its turns that a path uses with its present queue. The share is one
// half if the queue exceeds the mean by 1/halfPart of a round trip. With a steeper function the
// loop overshoots. With a flatter function, a link at a quarter of its rate fills up within a
// short flow.
func (s *Spray) now(sp *sprayPath, now mono.Time) float32 {
	if sp.queue <= s.mean {
		return 1
	}
	// A measured queue drains while the measurement ages, because no packets were sent into the
	// queue in that time. The excess never falls below zero, so an unused path saves no turns for
	// later.
	over := max(0, sp.queue-s.mean-now.Sub(sp.at)/4)
	return max(minWeight, 1/(1+float32(over)/float32(max(s.rtt/halfPart, halfGranules*s.grain))))
}

// admit adds new paths to the round. Paths that become unusable for some time keep their
// position.
func (s *Spray) admit(usable *Set) {
	s.order = s.order[:0]
	for p := range MaxPaths {
		if usable.Has(p) || s.known.Has(p) {
			s.known.Add(p)
			s.path(p)
			s.order = append(s.order, uint8(p))
		}
	}
	s.shuffle()
}

func (s *Spray) shuffle() {
	s.rng.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	s.at = 0
}

// Sample implements Policy.
func (s *Spray) Sample(now mono.Time, p int, m Sample) {
	sp := s.path(p)
	q := m.Queue + m.Distance
	if m.CE {
		q += max(m.Queue, s.grain) // a mark counts as at least one granule
	}
	if !s.heard {
		s.heard, s.mean, s.rtt = true, q, m.RTT
	}
	s.mean += (q - s.mean) >> meanShift
	s.rtt += (m.RTT - s.rtt) >> meanShift
	if since := now.Sub(sp.at); sp.at != 0 && s.rtt > 0 {
		span := float32(min(mostSpan, float64(since)/float64(s.rtt)))
		scale := float32(max(s.mean, s.rtt/4))
		off := max(-1, min(1, float32(q-s.mean)/scale))
		sp.weight += span * (leak*(1-sp.weight) - learn*off*sp.weight)
		sp.weight = max(minWeight, min(1, sp.weight))
	}
	sp.queue, sp.at = q, now
}
