package srd

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// PathInfo describes a path, for display.
type PathInfo struct {
	Slot     uint16
	Tuple    Tuple
	State    PathState
	RTT      time.Duration // smoothed round trip
	Base     time.Duration
	MTU      int       // UDP payload bytes
	Seen     mono.Time // last packet from the peer on it
	Unsized  bool      // a small packet has passed, but no packet of BasePacket bytes yet
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

// Endpoint returns the source address of the last packet from the peer.
func (c *Conn) Endpoint() netip.AddrPort {
	if c.paths.last != nil {
		return c.paths.last.tuple.Remote
	}
	return netip.AddrPort{}
}

// failingFor is the time for which a path that fell silent counts as failing. It is the
// longest interval of probes. By then the network's routing has usually found another
// route. Otherwise the path is gone, and the capacity of the remaining paths counts as
// normal.
const failingFor = probeMost

// Failing reports whether a path fell silent within failingFor and is still silent. Such
// a failure changes the network's capacity for a reason other than the senders' traffic.
func (c *Conn) Failing(now mono.Time) bool {
	return c.paths.fell != 0 && now.Sub(c.paths.fell) < failingFor
}

// SetTuples sets the tuples on which the peer may be reachable: all combinations of local
// and remote addresses and ports. Our paths on other tuples are probed, and freed if the
// probes get no response. New paths are opened as soon as a session exists. The argument
// `learned` lists tuples of earlier packets from the peer. An initiation to a learned tuple
// is useful, because a peer with a NAT may still receive there. Once the peer has opened a
// path between two addresses, this end sends no more initiations to the learned tuples
// between these addresses.
func (c *Conn) SetTuples(now mono.Time, tuples []Tuple, learned ...Tuple) {
	all := slices.Concat(tuples, learned)
	c.paths.tuples, c.paths.firstLearned = all[:min(len(all), steer.MaxPaths)], min(len(tuples), steer.MaxPaths)
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

// Refused and HostChanged report changes of this host's addresses and routes. A path ends
// when its local address is removed. The removal of an address is detected without a
// timeout, because the kernel refuses each packet at once.

// Refused reports that the kernel refused a packet on t, because this host lacks the
// source address or a route from it. All messages in flight on the path are sent again on
// other paths. The path is probed like any path that is down, because the address may be
// restored.
func (c *Conn) Refused(now mono.Time, t Tuple) {
	for _, p := range c.paths.table {
		if p.tuple == t && (p.state == PathActive || p.state == PathSuspect) {
			c.env.stats.PathsRefused++
			c.paths.fail(now, p)
		}
	}
}

// HostChanged reports that addresses or routes of this host may have changed. The function
// became() returns the Uplink that replaces an Uplink. For example, an address that moved
// to another interface has another interface number. The paths of a replaced uplink
// continue on the new one. If the uplink is gone, ok is false, and its paths are freed.
// Silent paths are probed at once, because the change may have repaired them.
func (c *Conn) HostChanged(now mono.Time, became func(Uplink) (u Uplink, ok bool)) {
	soon := now
	for _, p := range c.paths.table {
		switch {
		case p.state == PathFree:
		case p.tuple.Local.IsValid() && !c.paths.follow(p, became):
			c.paths.freePath(p)
		case p.silent():
			// The probes of silent paths have the same spacing as the first challenges of new paths.
			p.probe.next, p.probe.tries = soon, 0
			c.paths.probing.Add(int(p.slot))
			c.env.active = now // so that an idle connection probes for a while, too
			soon = soon.Add(openEvery)
		}
	}
}

// Proven returns the proven addresses of the peer, at most 16. Addresses with a path come
// first, those with the latest packets at the front. Addresses without a path come last.
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

// Candidates returns the unproven tuples from which the peer's packets arrived, for
// display.
func (c *Conn) Candidates(now mono.Time) (v []Tuple) {
	for i := range c.paths.candidates.All() {
		if k := &c.paths.candidates.All()[i]; now.Sub(k.Heard()) <= candidate.Life {
			v = append(v, k.Tuple)
		}
	}
	return v
}
