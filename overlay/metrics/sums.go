package metrics

import (
	"maps"
	"slices"

	"github.com/srdtun/srdtun/overlay/control"
)

// sums adds up counters over all peers. A sum of counters must not fall when a peer is
// removed: Prometheus would take that for a restart, and count everything again. So
// what a peer had last is kept when it goes.
type sums struct {
	gone  map[string]uint64            // of peers that are no more
	peers map[string]map[string]uint64 // by public key
}

func newSums() sums {
	return sums{gone: map[string]uint64{}, peers: map[string]map[string]uint64{}}
}

// dropped is before the reason in the name of a sum.
const dropped = "dropped_"

// take replaces the counters of all peers by those of st.
func (s *sums) take(st *control.Status) {
	now := make(map[string]map[string]uint64, len(st.Peers))
	for i := range st.Peers {
		now[st.Peers[i].PublicKey] = countersOf(&st.Peers[i])
	}
	for key, last := range s.peers {
		// Someone who comes back under the same key begins at zero again.
		if n, here := now[key]; here && n["pushed"] >= last["pushed"] && n["delivered"] >= last["delivered"] {
			continue
		}
		for name, n := range last {
			s.gone[name] += n
		}
	}
	s.peers = now
}

func countersOf(p *control.Peer) map[string]uint64 {
	c := map[string]uint64{"pushed": p.Queue.Pushed, "popped": p.Queue.Popped, "delivered": p.Order.DeliveredFrames}
	for reason, n := range p.Drops {
		c[dropped+reason] = n
	}
	return c
}

// total is the sum over all peers that there are and were.
func (s *sums) total(name string) uint64 {
	n := s.gone[name]
	for _, p := range s.peers {
		n += p[name]
	}
	return n
}

// reasons are all drop counters, in order: the ones known, and any others that count.
func (c *Collector) reasons(st *control.Status) []string {
	all := map[string]bool{}
	for _, r := range c.src.Reasons {
		all[r] = true
	}
	for r := range st.Drops {
		all[r] = true
	}
	for i := range st.Peers {
		for r := range st.Peers[i].Drops {
			all[r] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
