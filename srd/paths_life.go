package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// strangerTries is the number of unanswered probes after which a down path that the peer
// opened is freed.
const strangerTries = 30

// find returns our path on t, or nil.
func (ps *paths) find(t Tuple) *path {
	for _, p := range ps.table {
		if p.state == PathFree {
			continue
		}
		if p.tuple == t {
			return p
		}
		if p.tuple.Sock != t.Sock || p.tuple.Remote != t.Remote {
			continue
		}
		// The first packet from the peer shows the path's local address. Until then the kernel
		// chooses the local address, so any address fits.
		if !p.tuple.Local.IsValid() {
			p.tuple.Local = t.Local
			return p
		}
		if !t.Local.IsValid() {
			return p
		}
	}
	return nil
}

// openPath opens a path on t. If `ours` is true, t is a configured tuple; otherwise the peer
// has proven t. The result is nil if no slot is free.
func (ps *paths) openPath(now mono.Time, t Tuple, ours bool) *path {
	p := ps.slotFor(ours)
	if p == nil {
		return nil
	}
	// A new path in a slot continues the packet numbers of the slot's former path. So no nonce is
	// used twice, even by different paths and sessions.
	*p = path{slot: p.slot, tuple: t, state: PathCandidate, ours: ours, sent: p.sent, largest: p.largest, peerCE: p.peerCE, skipped: p.skipped, reorder: reorderFirst}
	p.probe.next = now
	ps.probing.Add(int(p.slot))
	ps.candidates.Remove(t)
	ps.opened++
	return p
}

// slotFor returns a free slot, or frees the path with the lowest keepRank. If every path
// must stay, slotFor returns nil.
func (ps *paths) slotFor(ours bool) *path {
	for _, p := range ps.table {
		if p.state == PathFree {
			return p
		}
	}
	if len(ps.table) < steer.MaxPaths {
		p := &path{slot: uint16(len(ps.table))}
		ps.table = append(ps.table, p)
		return p
	}
	var least *path
	rank := mono.Never
	for _, p := range ps.table {
		if v := p.keepRank(ours); v < rank {
			least, rank = p, v
		}
	}
	if least != nil {
		ps.freePath(least)
	}
	return least
}

// keepRank ranks the paths that may be freed for a new path; the path with the lowest keepRank
// is freed first. If the peer opened the new path, our paths without a challenge so far are
// freed first, so that two ends with many ports share the slots. Paths without any response so
// far follow, then the peer's paths that are down, the longest first, then our own paths that
// are down. For a new path of this end, only the peer's down paths may be freed. If our own
// could be freed, two dead paths would replace each other for ever. The keepRank of a working
// path is Never, so a working path is not freed.
func (p *path) keepRank(ours bool) mono.Time {
	switch {
	case !ours && p.ours && p.state == PathCandidate && p.probe.tries == 0:
		return 0
	case p.state != PathDown || (ours && p.ours):
		return mono.Never
	case !p.validated:
		return 1
	case p.ours:
		return mono.Never/2 + p.fell
	}
	return max(2, p.fell)
}

// follow changes the local address of p to the present form of p's uplink. If the uplink
// is gone, or another path has the new tuple, follow() returns false.
func (ps *paths) follow(p *path, became func(Uplink) (Uplink, bool)) bool {
	u, ok := became(p.tuple.Local)
	if !ok || u == p.tuple.Local {
		return ok
	}
	t := p.tuple
	t.Local = u
	if ps.find(t) != nil {
		return false
	}
	p.tuple = t
	ps.opened++ // so packets on the new tuple are looked up again
	ps.candidates.Remove(t)
	return true
}

func (ps *paths) listed(t Tuple) bool {
	for i := range ps.tuples {
		u := &ps.tuples[i]
		if u.Sock == t.Sock && u.Remote == t.Remote && (u.Local == t.Local || !u.Local.IsValid()) {
			return true
		}
	}
	return false
}

// askDropped challenges the paths whose tuples have left the configuration. They occupy slots
// that configured paths need, and most of their addresses no longer exist.
func (ps *paths) askDropped(now mono.Time) {
	for _, p := range ps.table {
		if p.dropped && p.state == PathActive {
			ps.ask(now, p)
		}
		p.dropped = false
	}
}

// forget frees all paths and resets the number of needed paths, because the peer is a new
// process.
func (ps *paths) forget() {
	for _, p := range ps.table {
		if p.state != PathFree {
			ps.freePath(p)
		}
	}
	ps.candidates.Clear()
	ps.from, ps.known, ps.needs = nil, ps.stats.Sent+ps.stats.Received, 0
}
