package srd

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// openEvery is the shortest time between the first challenges of two paths. Without this
	// interval the challenges would wait in one queue, and every path would seem long. A due
	// challenge is sent before waiting messages, so the first challenge measures an empty
	// network.
	openEvery = 300 * time.Microsecond
	// unansweredMost is the largest number of unanswered challenges at any time (U6).
	// Challenges of new paths and of packet sizes count. The challenges of all paths at once
	// fill a narrow uplink for seconds. In the resulting queue responses are late, and every
	// new path seems long. The limit also leaves room for other senders in the peer's table
	// of candidates.
	unansweredMost = 12
)

// openAt returns the time from which the next path may be challenged for the first time.
func (ps *paths) openAt() mono.Time { return ps.openedAt.Add(openEvery) }

// roomAt returns the time from which one more first challenge, of a path or of a packet
// size, may be sent. From then on the number of unanswered first challenges is below the
// limit. A challenge counts until its response arrives, but for two round trips at most.
// Later challenges of a path do not count, because they back off, and dead paths must not
// delay others. Keepalives do not count: with an interval below the round trip, they would
// always take all the room.
func (ps *paths) roomAt(now mono.Time) mono.Time {
	wait, n, at := ps.challengeWait(), 0, mono.Never
	for slot := ps.probing.Next(0); slot >= 0; slot = ps.probing.Next(slot + 1) {
		p := ps.table[slot]
		if q := &p.probe; q.at != 0 && now < q.at.Add(wait) && q.size > keepaliveSize && (p.state == PathActive || q.tries == 1) {
			n, at = n+1, at.Min(q.at.Add(wait))
		}
	}
	if n < unansweredMost {
		return 0
	}
	return at
}

// challengeWait returns the time after which an unanswered challenge has expired: two round
// trips of the packets or of the last answered challenge, and the time in the hosts. A busy
// hub answers late, and reads responses late.
func (ps *paths) challengeWait() time.Duration {
	return min(2*(max(ps.handshake, ps.rtt.Smoothed(), ps.trip, cc.TargetFloor)+ps.hosts.mean), probeMost)
}

// firstSize returns the size of the next challenge of p, a path that was not validated. The
// first challenge has the packet size of another path between the same addresses, because p
// mostly carries the same size, and then needs no size probe.
func (ps *paths) firstSize(p *path) int {
	size := BasePacket
	for _, o := range ps.table {
		if p.probe.tries == 0 && o.state == PathActive && o.tuple.Local == p.tuple.Local && o.tuple.Remote.Addr() == p.tuple.Remote.Addr() {
			size = max(size, o.mtu)
		}
	}
	return size
}

// openIdle is the least number of paths to a peer with which no message was exchanged yet.
// It is two, because the first path may not work. It is small, because opening a path takes
// some 3 KB of probes at each end, and most members of a fleet never exchange messages.
const openIdle = 2

// openEvenly is the number of messages that open one more path (U1). The first openEvenly
// messages open a path each. Then challenges are about 5 % of the packets: if a hundred peers
// begin at once to send to one host, the challenges of all their paths take its processors for
// seconds.
const openEvenly = 24

// need requests open paths for the messages exchanged so far. If several tail probes in a row
// have had no answer, need() adds as many paths as a tail probe uses, because all present
// paths may have failed unnoticed.
func (ps *paths) need() {
	n := ps.stats.Sent + ps.stats.Received - ps.known
	n = min(n, openEvenly+n/openEvenly)
	if ps.unanswered() {
		n += probesMost
	}
	if n = min(n, uint64(len(ps.tuples))); n > ps.needs {
		ps.needs = n
		ps.changed = ps.changed || ps.wanting
	}
}

// unanswered reports whether several tail probes in a row had no answer.
func (ps *paths) unanswered() bool { return ps.flight.timer.backoff > 1 && !ps.flight.out.empty() }

// unheard must be called for each tail probe. From the second unanswered tail probe on,
// this end opens paths even between addresses between which the peer opens paths.
func (ps *paths) unheard() { ps.changed = ps.changed || ps.wanting && ps.unanswered() }

// openedOne records the first challenge of a path. A process that wakes late may send the
// challenges that were due in the meantime at once.
func (ps *paths) openedOne(now mono.Time) {
	ps.openedAt = max(ps.openAt(), now.Add(-mono.Granularity))
}

// begin opens paths for a new session. Messages that were queued before the session are
// sent before the challenges.
func (ps *paths) begin(now mono.Time) {
	ps.openedAt = now
	ps.openAll(now)
}

// openAll opens paths on tuples without a path. The first tuples get the needed paths:
// openIdle paths, plus those for the messages so far (need). While no path works, each path that was
// challenged in vain adds two. In addition, each pair of addresses gets one path. The other
// tuples get no path before more are needed, or before a slot is free.
func (ps *paths) openAll(now mono.Time) {
	ps.wanting = false
	ps.openedAt = max(ps.openedAt, now.Add(-openEvery)) // the first one at once
	needed := openIdle + int(ps.needs) + 2*ps.vain()
	if ps.cfg.Eager || ps.cfg.Keepalive > 0 {
		needed = len(ps.tuples)
	}
	full := false
	for i, t := range ps.tuples {
		p, called := ps.find(t), i < ps.firstLearned || ps.unanswered() || !ps.comes(t)
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

// askHere makes the next challenge of p due earlier, because packets of the peer arrive on
// p's tuple. The wait after the last challenge must still be over, because many packets may
// arrive.
func (ps *paths) askHere(now mono.Time, p *path) {
	if p.probe.tries == 0 {
		p.probe.next = 0
		return
	}
	p.probe.next = p.probe.next.Min(max(now, p.probe.at.Add(ps.candidateWait(int(p.probe.tries)-1))))
}

// If no path works, vain() returns the number of our paths that do not work and were
// challenged more than once. If a path works, vain() returns 0: responses are then mostly
// missing because a host is slow, and more paths would not help.
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

// comes reports whether the peer itself has opened a working path between the two addresses
// of t.
func (ps *paths) comes(t Tuple) bool {
	return slices.ContainsFunc(ps.table, func(p *path) bool {
		return p.state == PathActive && !p.ours && p.tuple.Local == t.Local && p.tuple.Remote.Addr() == t.Remote.Addr()
	})
}

// spare reports whether p, which has never answered, may be freed. It may be freed if its
// tuple is learned, and the peer opens paths between the same addresses.
func (ps *paths) spare(p *path) bool {
	return slices.Index(ps.tuples, p.tuple) >= ps.firstLearned && ps.comes(p.tuple)
}

// firstOfPair reports whether tuple i is the first one with its two addresses.
func (ps *paths) firstOfPair(i int) bool {
	t := &ps.tuples[i]
	return !slices.ContainsFunc(ps.tuples[:i], func(u Tuple) bool {
		return u.Local == t.Local && u.Remote.Addr() == t.Remote.Addr()
	})
}
