package srd

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Paths are opened as TCP opens its first window (RFC 5681 section 3.1): a few challenges,
// and two more for each path that answers. A host that takes long for them, or a queue on
// the way, sets the pace so, for all its peers together; and however many ports there are,
// they are open after log2(ports/openFirst) round trips. Where nothing answers one goes
// every openMost: what is tried first may lead nowhere.
const (
	// openEvery is the least time between two: each is a packet of full size before those
	// that somebody waits for.
	openEvery = 300 * time.Microsecond
	// openFirst is how many go at once. Fewer take one round trip more for 32 ports, and
	// fifty spokes of a hub that has restarted send it no more than it answers in a few
	// milliseconds.
	openFirst = 4
	// openMost has as many opened within a second as there can be.
	openMost = time.Second / steer.MaxPaths
	// openAtOnce bounds those under way: the peer keeps no more candidates, and some are
	// left to others.
	openAtOnce = candidate.Most * 3 / 4
)

// opening paces the first challenges of paths.
type opening struct {
	credit int       // how many may go without more answers
	last   mono.Time // when the last one went
}

// at returns when the next path may be challenged for the first time.
func (o *opening) at() mono.Time {
	if o.credit > 0 {
		return o.last.Add(openEvery)
	}
	return o.last.Add(openMost)
}

// spend takes it that a path is challenged for the first time.
func (o *opening) spend(now mono.Time) {
	o.credit, o.last = max(o.credit-1, 0), now
}

// openMore takes it that a path has answered its challenge: two more may be opened, one in
// its place where many are under way.
func (ps *paths) openMore() {
	under := 0
	for _, p := range ps.table {
		if p.state == PathCandidate && p.probe.tries > 0 {
			under++
		}
	}
	ps.opening.credit = min(ps.opening.credit+min(max(openAtOnce-under, 1), 2), openAtOnce)
}

// openIdle is how many paths there are at least to a peer with which nothing was exchanged
// yet: the first may lead where something is broken. To open one takes some 10 KB of probes
// at each end, and most members of a fleet never talk to each other.
const openIdle = 2

// need has paths opened for the messages that were exchanged since it was last asked.
func (ps *paths) need() {
	if n := min(ps.stats.Sent+ps.stats.Received-ps.known, uint64(len(ps.tuples))); n > ps.needs {
		ps.needs = n
		ps.changed = ps.changed || ps.wanting
	}
}

// begin opens paths for a new session, or to new places. What was waited for until there is
// a session goes first.
func (ps *paths) begin(now mono.Time) {
	ps.opening = opening{credit: max(ps.opening.credit, openFirst), last: now}
	ps.openAll(now)
}

// openAll opens paths on the tuples that have none: openIdle, one for each pair of
// addresses, one for each message so far, and one for each that was asked in vain while none
// works. Those that are not needed yet wait, and those for which there is no room.
func (ps *paths) openAll(now mono.Time) {
	ps.wanting = false
	needed := openIdle + int(ps.needs) + ps.vain()
	if ps.cfg.Eager || ps.cfg.Keepalive > 0 {
		needed = len(ps.tuples)
	}
	full := false
	for i, t := range ps.tuples {
		p := ps.find(t)
		if p == nil && !full && (i < needed || ps.firstOfPair(i)) && (i < ps.back || !ps.comes(t)) {
			p = ps.openPath(now, t, true)
			full = p == nil
		}
		if p == nil {
			ps.wanting = true
			continue
		}
		p.ours, p.dropped = true, false
	}
	if full {
		ps.askDropped(now)
	}
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
