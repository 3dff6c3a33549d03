package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// strangerTries is how long a path that the peer opened may be down before it is
// forgotten, in probes at probeMost.
const strangerTries = 30

// find returns our path on t, nil when there is none.
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
		// The source address of a path of ours is only known for sure when the
		// first answer tells where it arrived. Until the kernel has chosen one
		// it is any.
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

// openPath takes a slot for t, where the peer is configured to be if ours is set, and
// has proven to be otherwise. It returns nil when there is none to be had.
func (ps *paths) openPath(now mono.Time, t Tuple, ours bool) *path {
	p := ps.slotFor(ours)
	if p == nil {
		return nil
	}
	// The packet numbers of a slot that is used again go on where they were: a
	// nonce is never used twice, whatever becomes of paths and sessions.
	*p = path{slot: p.slot, tuple: t, state: PathCandidate, ours: ours, sent: p.sent, largest: p.largest, peerCE: p.peerCE, skipped: p.skipped, reorder: reorderFirst}
	p.probe.next = now
	ps.probing.Add(int(p.slot))
	ps.candidates.Remove(t)
	ps.opened++
	return p
}

// slotFor returns a slot: a free one, or that of the path that is least likely to be
// missed. It returns nil when all are in use.
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
	worth := mono.Never
	for _, p := range ps.table {
		if v := p.worth(ours); v < worth {
			least, worth = p, v
		}
	}
	if least != nil {
		ps.freePath(least)
	}
	return least
}

// worth ranks the paths that may make room for another, which is ours or one that the
// peer has proven. First go those of ours that were not tried yet, so that two sides that
// have more ports than there is room share it, then those that never answered, then
// those that are down for longest, ours last. For one of ours only what is down and not
// ours goes, or two that lead nowhere would take turns. Never: a path that works is not
// given up for another.
func (p *path) worth(ours bool) mono.Time {
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

// follow has p leave from what its uplink has become. It reports false when that is gone, or
// another path is there already.
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
	ps.opened++ // what came from there is looked for again
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

// askDropped asks the paths that are configured no more, and take the room of those
// that are, whether they still work: mostly their address is gone.
func (ps *paths) askDropped(now mono.Time) {
	for _, p := range ps.table {
		if p.dropped && p.state == PathActive {
			ps.ask(now, p)
		}
		p.dropped = false
	}
}

// forget takes it that the peer is another process: nothing was exchanged with it.
func (ps *paths) forget() {
	for _, p := range ps.table {
		if p.state != PathFree {
			ps.freePath(p)
		}
	}
	ps.candidates.Clear()
	ps.from, ps.known, ps.needs = nil, ps.stats.Sent+ps.stats.Received, 0
}
