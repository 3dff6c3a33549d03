package metrics

import (
	"maps"
	"slices"

	"github.com/srdtun/srdtun/overlay/control"
)

// sums has the sum of each counter over all peers. The sum must not fall when a peer is removed,
// because Prometheus would take the fall for a restart, and count the whole sum again. So sums
// keeps the last counters of each removed peer.
type sums struct {
	gone  map[string]uint64            // sums of the counters of removed peers
	peers map[string]map[string]uint64 // counters of present peers, by public key
}

func newSums() sums {
	return sums{gone: map[string]uint64{}, peers: map[string]map[string]uint64{}}
}

const dropped = "dropped_"

// take replaces the counters of all present peers by those in the status st.
func (s *sums) take(st *control.Status) {
	now := make(map[string]map[string]uint64, len(st.Peers))
	for i := range st.Peers {
		now[st.Peers[i].PublicKey] = countersOf(&st.Peers[i])
	}
	for key, last := range s.peers {
		// If a peer was removed and added again, its counters begin at zero.
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

func (s *sums) total(name string) uint64 {
	n := s.gone[name]
	for _, p := range s.peers {
		n += p[name]
	}
	return n
}

// reasons returns the sorted names of all known drop counters, and of any other drop counters in
// the status st.
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
