package srd

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// PathInfo describes a path, for people.
type PathInfo struct {
	Slot     uint16
	Tuple    Tuple
	State    PathState
	RTT      time.Duration // smoothed
	Base     time.Duration
	MTU      int       // UDP payload bytes
	Seen     mono.Time // last packet of the peer's on it
	Unsized  bool      // a small packet has passed, and whether one of BasePacket bytes does is not known
	InFlight int
	Weight   float64
	PathStats
}

// Paths describes all paths in use.
func (c *Conn) Paths() []PathInfo {
	var v []PathInfo
	for _, p := range c.paths.table {
		if p.state == PathFree {
			continue
		}
		v = append(v, PathInfo{
			Slot: p.slot, Tuple: p.tuple, State: p.state, RTT: p.rtt.Smoothed(), Base: p.rtt.Base(),
			MTU: p.mtu, Seen: p.seen, Unsized: p.unsized, InFlight: p.inflight, Weight: c.env.cfg.Policy.Weight(int(p.slot)), PathStats: p.stats,
		})
	}
	return v
}

// Endpoint returns the address the peer was last heard from.
func (c *Conn) Endpoint() netip.AddrPort {
	if c.paths.last != nil {
		return c.paths.last.tuple.Remote
	}
	return netip.AddrPort{}
}

// failingFor is how long a path that fell silent counts as a matter of the moment: as
// long as two probes are apart at most. By then routing has mostly found another way, or
// the path is gone and the rest is what there is.
const failingFor = probeMost

// Failing reports whether a path fell silent a moment ago and has not come back. What
// the network carries has then changed without the doing of those who send.
func (c *Conn) Failing(now mono.Time) bool {
	return c.paths.fell != 0 && now.Sub(c.paths.fell) < failingFor
}

// SetTuples tells where the peer may be reached from here: all local x remote
// addresses and ports. Paths of ours on tuples no longer listed make room for others as
// soon as they do not answer, new ones are opened as soon as there is a session. The peer is
// called on back as well: it was there once, and whoever is behind a NAT answers there or
// comes itself. Between addresses where it has come no more paths are opened on these.
func (c *Conn) SetTuples(now mono.Time, tuples []Tuple, back ...Tuple) {
	all := slices.Concat(tuples, back)
	c.paths.tuples, c.paths.back = all[:min(len(all), steer.MaxPaths)], min(len(tuples), steer.MaxPaths)
	for _, p := range c.paths.table {
		if !p.ours || p.state == PathFree || c.paths.listed(p.tuple) {
			continue
		}
		p.ours, p.dropped = false, true
		if !p.validated {
			c.paths.freePath(p)
		}
	}
	if c.session.ready(now) {
		c.paths.openAll(now)
	}
}

// What this host tells of its own addresses and routes. Paths are told apart by both
// ends' addresses, so a path from an address that is gone is gone with it, and nothing
// that time could tell is waited for: the kernel refuses each packet at once.

// Refused tells that the kernel did not take a packet on t, because its source address is
// not this host's, or has no route to there. All that is in flight on that path is sent
// again elsewhere. It is probed like any path that is down: the address may come back.
func (c *Conn) Refused(now mono.Time, t Tuple) {
	for _, p := range c.paths.table {
		if p.tuple == t && (p.state == PathActive || p.state == PathSuspect) {
			c.env.stats.PathsRefused++
			c.paths.fail(now, p)
		}
	}
}

// HostChanged tells that addresses or routes of this host may have changed. became returns
// what an uplink is now: it may have another number, as an address has that moved to another
// interface. Its paths go on. ok is false when it is gone: then its paths are let go, and
// their slots are free. Paths that are silent are probed at once: what they fell silent for
// may be over.
func (c *Conn) HostChanged(now mono.Time, became func(Uplink) (u Uplink, ok bool)) {
	soon := now
	for _, p := range c.paths.table {
		switch {
		case p.state == PathFree:
		case p.tuple.Local.IsValid() && !c.paths.follow(p, became):
			c.paths.freePath(p)
		case p.silent():
			// One after the other, as those that are opened.
			p.probe.next, p.probe.tries = soon, 0
			c.paths.probing.Add(int(p.slot))
			c.env.active = now // an idle one asks again too, for a while
			soon = soon.Add(openEvery)
		}
	}
}

// Proven returns where the peer has proven to be, the address heard last first, at most
// 16. Those whose paths are gone come last.
func (c *Conn) Proven() (v []netip.AddrPort) {
	var paths []*path
	for _, p := range c.paths.table {
		if p.state != PathFree && p.validated {
			paths = append(paths, p)
		}
	}
	slices.SortStableFunc(paths, func(p, q *path) int { return int(min(1, max(-1, q.word()-p.word()))) })
	add := func(a netip.AddrPort) {
		if len(v) < provenMost && !slices.Contains(v, a) {
			v = append(v, a)
		}
	}
	for _, p := range paths {
		add(p.tuple.Remote)
	}
	for _, a := range c.paths.former.addrs {
		add(a)
	}
	return v
}

// Candidates returns where the peer was heard and has not proven to be, for people.
func (c *Conn) Candidates(now mono.Time) (v []Tuple) {
	for i := range c.paths.candidates.All() {
		if k := &c.paths.candidates.All()[i]; now.Sub(k.Heard()) <= candidate.Life {
			v = append(v, k.Tuple)
		}
	}
	return v
}
