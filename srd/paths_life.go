package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// strangerTries is the number of probes, probeMost apart, after which a down path that the
// peer opened is forgotten.
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
		// The source address of our own path is only known when the first answer shows
		// where it arrived. Until then the kernel has chosen one, and any address fits.
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

// openPath takes a slot for t. With ours, the peer is configured to be there, and otherwise
// it has proven to be there. The result is nil if there is no slot.
func (ps *paths) openPath(now mono.Time, t Tuple, ours bool) *path {
	p := ps.slotFor(ours)
	if p == nil {
		return nil
	}
	// A slot that is used again continues its packet numbers. So a nonce is never used
	// twice, even across paths and sessions.
	*p = path{slot: p.slot, tuple: t, state: PathCandidate, ours: ours, sent: p.sent, largest: p.largest, peerCE: p.peerCE, skipped: p.skipped, reorder: reorderFirst}
	p.probe.next = now
	ps.probing.Add(int(p.slot))
	ps.candidates.Remove(t)
	ps.opened++
	return p
}

// slotFor returns a free slot, or frees the path that is least likely to be missed. It
// returns nil if every path must stay.
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

// worth ranks the paths that may make room for a new one, which is ours or proven by the
// peer. The lowest goes first. For a proven one, untried paths of ours go first, so that
// two sides with many ports share the room. Next are paths that never answered, then the
// path down for longest, and ours last. For one of ours only a down path of the peer's
// goes, or two dead paths would replace each other for ever. A path that works stays
// (Never).
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

// follow moves p to the present form of its uplink. It returns false if the uplink is gone,
// or if another path is there already.
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
	ps.opened++ // packets from there are looked up again
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

// askDropped asks the paths that left the configuration whether they still work. They take
// the room of configured ones, and mostly their address is gone.
func (ps *paths) askDropped(now mono.Time) {
	for _, p := range ps.table {
		if p.dropped && p.state == PathActive {
			ps.ask(now, p)
		}
		p.dropped = false
	}
}

// forget frees all paths, because the peer is another process. No messages were exchanged
// with it yet.
func (ps *paths) forget() {
	for _, p := range ps.table {
		if p.state != PathFree {
			ps.freePath(p)
		}
	}
	ps.candidates.Clear()
	ps.from, ps.known, ps.needs = nil, ps.stats.Sent+ps.stats.Received, 0
}
