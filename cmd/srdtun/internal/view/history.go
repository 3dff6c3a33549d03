package view

import (
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

const (
	// samplesMost is the number of round trips that the command top keeps for a path, one for each
	// sampleEvery. A sparkline of 20 characters fits on the screen next to the figures.
	samplesMost = 20
	sampleEvery = time.Second
	// rateOver is the time over which the command top measures rates, shares and losses. Two
	// seconds are long enough to compute a share in per cent, and short enough to show the current
	// state.
	rateOver = 2 * time.Second
)

// history has the recent counters of one peer, for the command top.
type history struct {
	paths    map[pathKey]*samples
	groups   map[string]*samples
	readings []reading // oldest first: those within rateOver, and one before them
	sampled  time.Time
}

// pathKey identifies a path, because the number of a path may be used again.
type pathKey struct {
	slot          uint16
	local, remote string
}

func keyOf(p *control.Path) pathKey { return pathKey{p.Slot, p.From(), p.Remote} }

// samples holds round trips in microseconds, oldest first; -1 means that the path did not work.
type samples struct {
	v    []int64
	seen time.Time
}

func (s *samples) push(at time.Time, us int64) {
	s.v, s.seen = append(s.v, us), at
	s.v = s.v[max(0, len(s.v)-samplesMost):]
}

// reading holds the counters of a peer at one moment.
type reading struct {
	at     time.Time
	tx, rx uint64
	paths  map[pathKey]Sent
}

func newHistory() *history {
	return &history{paths: map[pathKey]*samples{}, groups: map[string]*samples{}}
}

// note adds a status of the peer to the history.
func (h *history) note(at time.Time, p *control.Peer) {
	r := reading{at: at, tx: p.TxBytes, rx: p.RxBytes, paths: map[pathKey]Sent{}}
	for i := range p.Paths {
		v := &p.Paths[i]
		r.paths[keyOf(v)] = Sent{v.SentPackets, v.SentBytes, v.Lost}
	}
	if n := len(h.readings); n > 0 && (p.TxBytes < h.readings[n-1].tx || p.RxBytes < h.readings[n-1].rx) {
		h.readings = nil // the daemon was restarted
	}
	h.readings = append(h.readings, r)
	for len(h.readings) > 2 && at.Sub(h.readings[1].at) >= rateOver {
		h.readings = h.readings[1:]
	}
	if at.Sub(h.sampled) >= sampleEvery {
		h.sampled = at
		h.sample(at, p)
	}
}

// sample records the round trip of each path and each pair of addresses. It deletes paths and pairs
// that no longer exist.
func (h *history) sample(at time.Time, p *control.Peer) {
	for _, g := range Groups(p.Paths) {
		for i := range g.Paths {
			v := &g.Paths[i]
			us := v.SRTTUs
			if v.State != control.PathActive {
				us = -1
			}
			series(h.paths, keyOf(v)).push(at, us)
		}
		us := g.RTTUs
		if g.Up == 0 {
			us = -1
		}
		series(h.groups, groupKey(&g)).push(at, us)
	}
	forget(h.paths, at)
	forget(h.groups, at)
}

func groupKey(g *Group) string { return g.Local + " " + g.Remote }

func series[K comparable](m map[K]*samples, k K) *samples {
	s := m[k]
	if s == nil {
		s = &samples{}
		m[k] = s
	}
	return s
}

func forget[K comparable](m map[K]*samples, at time.Time) {
	for k, s := range m {
		if s.seen != at {
			delete(m, k)
		}
	}
}

// rates returns the current sending and receiving rates, in bytes of UDP payload per second.
func (h *history) rates() (tx, rx uint64) {
	if len(h.readings) < 2 {
		return 0, 0
	}
	from, to := h.readings[0], h.readings[len(h.readings)-1]
	seconds := to.at.Sub(from.at).Seconds()
	return uint64(float64(to.tx-from.tx) / seconds), uint64(float64(to.rx-from.rx) / seconds)
}

// sent returns the numbers of packets recently sent and lost on paths.
func (h *history) sent(paths []control.Path) (v Sent) {
	if len(h.readings) < 2 {
		return v
	}
	from, to := h.readings[0], h.readings[len(h.readings)-1]
	for i := range paths {
		k := keyOf(&paths[i])
		a, b := from.paths[k], to.paths[k]
		if b.Packets < a.Packets || b.Lost < a.Lost {
			a = Sent{} // the counters belong to another path with the same key
		}
		v.Packets += b.Packets - a.Packets
		v.Bytes += b.Bytes - a.Bytes
		v.Lost += b.Lost - a.Lost
	}
	return v
}
