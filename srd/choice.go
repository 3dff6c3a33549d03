package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// choice picks the path of each train: the policy picks one of the eligible paths.
//
// An application gets its bytes in order, so the longest path decides when it gets them.
// The cost of a path is its round trip without a queue (len), or more if a packet is late:
//
//	cost(p) = max(len, age of the oldest packet in flight if it is late)
//
// A packet on a longer path saves two waits on the shorter paths: Q, the mean delay of packets
// there, and W, the wait in front of the window. So p is eligible if (ECF: Lim et al., CoNEXT 2017,
// section 3)
//
//	cost(p) <= least cost + Q + W + e
//
// The margin e covers the granules of both hosts and small differences of length. Among
// eligible paths the policy evens out the queues.
type choice struct {
	*env
	paths    *slots
	recovery *flight

	eligible steer.Set     // for new data, as of the last choice
	picked   steer.Set     // scratch: the set for a policy
	spare    steer.Set     // likewise, for when no path is eligible
	queue    time.Duration // smoothed delay of packets on eligible paths (waited)
	sampled  mono.Time     // its last sample
	least    time.Duration
	longest  time.Duration // of all usable paths
	front    front
	frozen   mono.Time // until then new data takes only paths with recent acknowledgements
	ping     *path     // a far path that carries nothing and is due for a ping
	steering steering
}

// alikePart: lengths that differ by less than an eighth count as equal. A few round trips
// measure a length no better than that.
const alikePart = 8

// queuePart: a sample weighs 1/16 in the smoothed queue.
const queuePart = 16

// length returns the round trip of p without a queue. Where round trips differ at random,
// most of them are no longer than it. The randomness counts only beyond cc.TargetCeiling,
// because a queue of that length explains as much.
func (p *path) length() time.Duration {
	return p.rtt.Empty() + max(0, p.rtt.Random()-cc.TargetCeiling)
}

// cost returns the cost of p: its length, or the age of its oldest packet if that is late.
// A path without samples has the largest cost.
func (ch *choice) cost(now mono.Time, p *path) time.Duration {
	switch {
	case !p.rtt.Known():
		return sampleMost
	case ch.isLate(now, p):
		return max(p.len, now.Sub(p.since))
	}
	return p.len
}

// survey finds the least and the greatest length. It returns the greatest cost that is
// eligible for data with this wait in front of the window.
func (ch *choice) survey(now mono.Time, wait time.Duration) time.Duration {
	least, short := sampleMost, sampleMost
	ch.longest = 0
	for slot := ch.paths.usable.Next(0); slot >= 0; slot = ch.paths.usable.Next(slot + 1) {
		p := ch.paths.table[slot]
		least = min(least, ch.cost(now, p))
		if p.rtt.Known() {
			short, ch.longest = min(short, p.len), max(ch.longest, p.len)
		}
	}
	ch.least = short
	if now.Sub(ch.sampled) > cleanRounds*ch.rtt.Smoothed()+ch.hosts.coarse {
		ch.queue = 0 // the queues have drained since then
	}
	return least + max(0, ch.queue) + wait + max(2*ch.hosts.coarse, short/alikePart)
}

// waited takes the delay of a packet on p, an eligible path: its queue there, and by how much
// the packet came later than in its turn on the nearest path. So a path in use remains eligible
// while the queue in front comes and goes.
func (ch *choice) waited(now mono.Time, p *path, queue time.Duration) {
	ch.queue += (queue + ch.behind(p) - ch.queue) / queuePart
	ch.sampled = now
}

// distance returns how much longer p is than the nearest path. It is 0 if the two lengths
// count as equal.
func (ch *choice) distance(p *path) time.Duration {
	switch d := p.len - ch.least; {
	case !p.rtt.Known():
		return sampleMost
	case d > max(2*ch.hosts.coarse, ch.least/alikePart):
		return d
	}
	return 0
}

// choose picks the path for a train of new messages. A policy that keeps flows on their
// paths may pick any usable path.
func (ch *choice) choose(now mono.Time) *path {
	settled := ch.steering.scope != steer.PerTrain
	most := ch.survey(now, ch.front.wait)
	set := &ch.picked
	*set, ch.eligible, ch.ping = steer.Set{}, steer.Set{}, nil
	ch.spare = steer.Set{}
	for slot := ch.paths.usable.Next(0); slot >= 0; slot = ch.paths.usable.Next(slot + 1) {
		p := ch.paths.table[slot]
		near := ch.cost(now, p) <= most
		if near {
			ch.eligible.Add(slot)
		} else if ch.ping == nil && p.inflight == 0 && now.Sub(ch.active) < probeMost && now.Sub(p.pinged) >= probeMost {
			ch.ping = p
		}
		if !p.carries(ch.paths.packet) || p.sent.Full() {
			continue
		}
		ch.spare.Add(slot)
		if settled || near {
			set.Add(slot)
		}
	}
	if !settled && now < ch.frozen {
		ch.freeze(now, set)
	}
	if set.Empty() {
		set = &ch.spare
	}
	if set.Empty() {
		return nil
	}
	return ch.paths.table[ch.cfg.Policy.Pick(now, set, ch.steering.ahead)]
}

// A path seldom fails alone. For freezeRounds round trips after a failure, new data takes
// only recently acknowledged paths: in the last cleanRounds (REPS, EuroSys 2025, section
// 3.3).
const (
	freezeRounds = 10
	cleanRounds  = 2
)

// freeze removes the paths without a recent acknowledgement from set, unless none would be
// left.
func (ch *choice) freeze(now mono.Time, set *steer.Set) {
	var clean steer.Set
	for slot := set.Next(0); slot >= 0; slot = set.Next(slot + 1) {
		if now.Sub(ch.paths.table[slot].heard) <= cleanRounds*ch.rtt.Smoothed()+ch.hosts.ackMost() {
			clean.Add(slot)
		}
	}
	if !clean.Empty() {
		*set = clean
	}
}

// alternative picks a path for the repair of m, one without a copy of m if possible. It
// prefers paths that were acknowledged since m was first sent, then eligible ones.
func (ch *choice) alternative(now mono.Time, m *outMsg) *path {
	need := wire.Overhead + wire.MessageOverhead + len(m.m.Data)
	most := ch.survey(now, 0)
	var fresh, heard, near steer.Set
	fits := &ch.picked
	*fits = steer.Set{}
	for slot := ch.paths.usable.Next(0); slot >= 0; slot = ch.paths.usable.Next(slot + 1) {
		p := ch.paths.table[slot]
		if !p.carries(need) {
			continue
		}
		fits.Add(slot)
		if ch.cost(now, p) <= most {
			near.Add(slot)
		}
		if m.tried&(1<<(p.slot%64)) == 0 {
			fresh.Add(slot)
			if p.heard > m.first {
				heard.Add(slot)
			}
		}
	}
	for _, better := range []*steer.Set{&heard, &near} {
		if !fresh.Disjoint(*better) {
			fresh = fresh.Common(*better)
		}
	}
	switch p, tail := ch.paths.last, &ch.recovery.timer; {
	case (tail.backoff > 0 || tail.found) && tail.probes <= 1 && p != nil && p.slot != m.slot && fits.Has(int(p.slot)) &&
		(fresh.Has(int(p.slot)) || tail.backoff > silentAfter || tail.found):
		// A tail probe looks for a path that works. The best guess is the path on which the
		// peer was heard last: the peer may have left all others. When nothing gets
		// through, every second probe goes there.
		return p
	case !fresh.Empty():
		*fits = fresh
	case fits.Empty() && !m.void:
		// No path carries a message of this size any more, so its payload is given up. Only
		// its number is still sent. For a Reliable message this counts as the loss of its
		// session.
		s := GivenUp
		if m.m.Class == Reliable {
			s = Reset
		}
		ch.recovery.giveUp(m, s)
		return ch.alternative(now, m)
	case fits.Empty():
		return nil
	}
	what := steer.Context{Target: ch.cfg.Control.Target(), Flow: m.m.Flow, Bytes: len(m.m.Data), Repair: true}
	return ch.paths.table[ch.cfg.Policy.Pick(now, fits, what)]
}

// nearer returns the path for the acknowledgement of packets that came on p. If p is one of
// the nearest paths, p is used. Otherwise it is the near path with the latest packet from
// the peer, if that packet is recent. If it is old, the near paths may have failed, and p
// is used.
func (ch *choice) nearer(p *path) *path {
	if ch.distance(p) == 0 {
		return p
	}
	best := p
	for _, q := range ch.paths.table {
		if q.state == PathActive && q.rtt.Known() && ch.distance(q) == 0 && (best == p || q.seen > best.seen) {
			best = q
		}
	}
	if ch.lastHeard.Sub(best.seen) > 2*ch.rtt.Smoothed()+ch.hosts.coarse {
		return p
	}
	return best
}
