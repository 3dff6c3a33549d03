package srd

import (
	"cmp"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// openEvery is the least time between the first challenges of paths: behind each other they
// queue up, so that every path looks long. The first goes before the messages that wait: it
// measures a network that nobody has filled yet. And no more of them are under way at once than the peer keeps
// candidates, unless it takes more than a second to open as many as there can be.
const (
	openEvery = 300 * time.Microsecond
	openMost  = time.Second / steer.MaxPaths
	// openAtOnce leaves some of the peer's candidates to others.
	openAtOnce = candidate.Most * 3 / 4
)

// openGap returns how far apart the first challenges of paths are.
func (ps *paths) openGap() time.Duration {
	rtt := cmp.Or(ps.took, ps.rtt.Smoothed())
	return max(openEvery, min(rtt/openAtOnce, openMost))
}

// openAt returns when the next path may be challenged for the first time.
func (ps *paths) openAt() mono.Time { return ps.openedAt.Add(ps.openGap()) }

// openIdle is how many paths there are at least to a peer with which nothing was exchanged
// yet: the first may lead where something is broken. To open one takes some 10 KB of probes
// at each end, and most members of a fleet never talk to each other.
const openIdle = 2

// need has paths opened for the messages that were exchanged since it was last asked, and in
// silence as many as a tail probe goes on: those that there are may all have died while nobody
// looked.
func (ps *paths) need() {
	n := ps.stats.Sent + ps.stats.Received - ps.known
	if ps.unanswered() {
		n += probesMost
	}
	if n = min(n, uint64(len(ps.tuples))); n > ps.needs {
		ps.needs = n
		ps.changed = ps.changed || ps.wanting
	}
}

// unanswered reports whether several tail probes were sent in vain.
func (ps *paths) unanswered() bool { return ps.flight.timer.backoff > 1 && !ps.flight.out.empty() }

// unheard takes it that one more tail probe is sent: from the second one on a peer that comes
// itself is called as well.
func (ps *paths) unheard() { ps.changed = ps.changed || ps.wanting && ps.unanswered() }

// openedOne takes it that a path is challenged for the first time. A process that wakes late
// catches up.
func (ps *paths) openedOne(now mono.Time) {
	ps.openedAt = max(ps.openAt(), now.Add(-mono.Granularity))
}

// begin opens paths for a new session. What was waited for until there is one goes first.
func (ps *paths) begin(now mono.Time) {
	ps.openedAt = now
	ps.openAll(now)
}

// openAll opens paths on the tuples that have none: openIdle, one for each pair of
// addresses, one for each message so far, and two for each that was asked in vain while none
// works. Those that are not needed yet wait, and those for which there is no room.
func (ps *paths) openAll(now mono.Time) {
	ps.wanting = false
	ps.openedAt = max(ps.openedAt, now.Add(-ps.openGap())) // the first one at once
	needed := openIdle + int(ps.needs) + 2*ps.vain()
	if ps.cfg.Eager || ps.cfg.Keepalive > 0 {
		needed = len(ps.tuples)
	}
	full := false
	for i, t := range ps.tuples {
		p, called := ps.find(t), i < ps.back || ps.unanswered() || !ps.comes(t)
		if p == nil && !full && called && (i < needed || ps.firstOfPair(i)) {
			p = ps.openPath(now, t, true)
			full = p == nil
		}
		switch {
		case p == nil:
			ps.wanting = true
		case called:
			p.ours, p.dropped = true, false
		}
	}
	if full {
		ps.askDropped(now)
	}
}

// askHere has p, where the peer was heard, challenged before those where it was not. However
// much comes from there, only the newest challenge can be answered, so each is given its time.
func (ps *paths) askHere(now mono.Time, p *path) {
	if p.probe.tries == 0 {
		p.probe.next = 0
		return
	}
	p.probe.next = p.probe.next.Min(max(now, p.probe.at.Add(ps.candidateWait(int(p.probe.tries)-1))))
}

// vain returns how many paths of ours were asked more than once, if none works. Where one
// does, others are asked no faster: mostly it is a host that is late.
func (ps *paths) vain() (n int) {
	if !ps.usable.Empty() {
		return 0
	}
	for _, p := range ps.table {
		if p.ours && p.state != PathFree && p.state != PathActive && p.probe.tries > 1 {
			n++
		}
	}
	return n
}

// comes reports whether the peer opens paths itself between the two addresses of t.
func (ps *paths) comes(t Tuple) bool {
	return slices.ContainsFunc(ps.table, func(p *path) bool {
		return p.state == PathActive && !p.ours && p.tuple.Local == t.Local && p.tuple.Remote.Addr() == t.Remote.Addr()
	})
}

// spare reports whether p, which has never answered, is not missed: the peer was called back
// there, and comes itself.
func (ps *paths) spare(p *path) bool {
	return slices.Index(ps.tuples, p.tuple) >= ps.back && ps.comes(p.tuple)
}

// firstOfPair reports whether no tuple before number i has the same two addresses.
func (ps *paths) firstOfPair(i int) bool {
	t := &ps.tuples[i]
	return !slices.ContainsFunc(ps.tuples[:i], func(u Tuple) bool {
		return u.Local == t.Local && u.Remote.Addr() == t.Remote.Addr()
	})
}
