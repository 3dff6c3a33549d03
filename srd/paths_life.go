package srd

import (
	"cmp"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
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

func (ps *paths) listed(t Tuple) bool {
	for i := range ps.tuples {
		u := &ps.tuples[i]
		if u.Sock == t.Sock && u.Remote == t.Remote && (u.Local == t.Local || !u.Local.IsValid()) {
			return true
		}
	}
	return false
}

// openEvery is the least time between the first challenges of new paths. One goes after
// the other, or the challenges queue up behind each other and every path looks long. And
// no more of them are under way at once than the peer keeps candidates, unless it takes
// more than a second to open as many as there can be.
const (
	openEvery = 300 * time.Microsecond
	openMost  = time.Second / steer.MaxPaths
	// openAtOnce leaves some of the peer's candidates to others.
	openAtOnce = candidate.Most * 3 / 4
)

// openGap returns how far apart the first challenges of new paths are.
func (ps *paths) openGap() time.Duration {
	rtt := cmp.Or(ps.rtt.Smoothed(), ps.keys.took())
	return max(openEvery, min(rtt/openAtOnce, openMost))
}

// openAll opens a path on every tuple that has none. Those for which there is no room
// wait for some.
func (ps *paths) openAll(now mono.Time) {
	ps.wanting = false
	gap := ps.openGap()
	at := now
	for _, t := range ps.tuples {
		p := ps.find(t)
		if p == nil && !ps.wanting {
			if p = ps.openPath(now, t, true); p != nil {
				p.probe.next = at
				at = at.Add(gap)
			}
		}
		if p == nil {
			ps.wanting = true
			continue
		}
		p.ours, p.dropped = true, false
	}
	if ps.wanting {
		ps.askDropped(now)
	}
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

// reopen makes p fit for a new process of the peer's. A path that the former one
// opened came from a port of its own, which is gone with it. One of ours begins
// anew: its challenge also lets the peer, to whom we are a stranger there, answer.
func (ps *paths) reopen(now mono.Time, p *path) {
	switch {
	case p.state == PathFree:
	case !p.ours:
		ps.freePath(p)
	default:
		p.state, p.validated, p.unsized = PathCandidate, false, false
		ps.usable.Remove(int(p.slot))
		p.probe = probe{next: now.Add(time.Duration(p.slot) * ps.openGap())}
		ps.probing.Add(int(p.slot))
	}
}
