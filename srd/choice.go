package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// choice finds the eligible paths for each train, and the policy picks one of them.
//
// An application receives its bytes in order, so the longest path determines the delay. The
// cost of a path is its length (len), which is its round trip without a queue. If a packet
// on the path is late, the cost may be more:
//
//	cost(p) = max(len, age of the oldest packet in flight if it is late)
//
// A packet on a longer path avoids two delays of the shorter paths. Q is the mean
// queueing delay of packets on these paths, and W is the wait in front of the window. So
// p is eligible under this condition (Lim et al., ECF, CoNEXT 2017, section 3):
//
//	cost(p) <= least cost + Q + W + e
//
// The margin e covers the granules of both hosts and small differences of length. Among the
// eligible paths the policy balances the queues.
type choice struct {
	*env
	paths    *slots
	recovery *flight

	eligible steer.Set     // eligible paths for new data, as of the last choice
	picked   steer.Set     // scratch: the set for a policy
	spare    steer.Set     // likewise, for when no path is eligible
	queue    time.Duration // smoothed delay of packets on eligible paths (waited)
	sampled  mono.Time     // its last sample
	least    time.Duration
	longest  time.Duration // greatest length of all usable paths
	front    front
	frozen   mono.Time // until then new data uses only paths with recent acknowledgements
	ping     *path     // a far path that carries no data and is due for a ping
	steering steering
}

// alikePart: lengths that differ by less than 1/alikePart of the smaller one count as
// equal, because a few round trips measure a length only with that accuracy.
const alikePart = 8

// queuePart: a sample weighs 1/16 in the smoothed queue.
const queuePart = 16

// length returns the round trip of p without a queue. If round trips vary at random, most
// of them are at most as long as the length. Random variation counts only above
// cc.TargetCeiling, because a smaller variation may come from a queue.
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
		return max(p.len, now.Sub(p.oldest().At))
	}
	return p.len
}

// survey finds the least and the greatest length. It returns the greatest cost at which a
// path is eligible for data, given the wait in front of the window.
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
		ch.queue = 0 // the queues have drained since the last sample
	}
	return least + max(0, ch.queue) + wait + max(2*ch.hosts.coarse, short/alikePart)
}

// waited adds a sample to the smoothed delay Q. A sample is the sum of two delays of a
// packet on the eligible path p: the queueing delay, and the extra delay from the method
// excess(). Because of the extra delay, p stays eligible while the queue in front of the
// window grows and shrinks.
func (ch *choice) waited(now mono.Time, p *path, queue time.Duration) {
	ch.queue += (queue + ch.excess(p) - ch.queue) / queuePart
	ch.sampled = now
}

// distance returns how much longer p is than the nearest path. If the two lengths count
// as equal, distance() returns 0.
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
	*set, ch.eligible, ch.spare, ch.ping = steer.Set{}, steer.Set{}, steer.Set{}, nil
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

// Paths often fail together. For freezeRounds round trips after a failure, new data takes
// only paths with an acknowledgement in the last cleanRounds round trips (REPS, EuroSys
// 2025, section 3.3).
const (
	freezeRounds = 10
	cleanRounds  = 2
)

// freeze removes the paths without a recent acknowledgement from `set`, unless set would
// be empty.
func (ch *choice) freeze(now mono.Time, set *steer.Set) {
	var clean steer.Set
	for slot := set.Next(0); slot >= 0; slot = set.Next(slot + 1) {
		if now.Sub(ch.paths.table[slot].heard) <= cleanRounds*(ch.rtt.Smoothed()+ch.hosts.wait()) {
			clean.Add(slot)
		}
	}
	if !clean.Empty() {
		*set = clean
	}
}

// alternative picks a path for the repair of m, if possible a path without a copy of m.
// Paths that were acknowledged since m was first sent are preferred, then eligible paths.
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
		// A tail probe searches for a path that works. The best guess is the path of the
		// last received packet, because the peer may have left all other paths. If probes
		// stay unanswered, every second probe is sent on the path of the last received
		// packet.
		return p
	case !fresh.Empty():
		*fits = fresh
	case fits.Empty() && !m.void:
		// No path carries a message of this size any more, so the payload is given up.
		// Only the message number is still sent. A Reliable message gets the status
		// Reset.
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

// nearer returns the path for the acknowledgement of packets that arrived on p. If p is
// one of the nearest paths, the result is p. Otherwise the result is the near path with
// the latest packet from the peer. If that packet is old, the near paths may have failed,
// and the result is p.
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
