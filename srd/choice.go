package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// choice picks the path for each train, by a policy among those that are eligible.
//
// An application gets its bytes in order, so the longest path decides when it gets them. A
// path costs
//
//	cost(p) = max(len, age of the oldest packet in flight if it is late)
//
// A longer path saves a packet two waits on the shorter ones: for Q, their mean queue, and
// for W, in front of the window. So p is eligible if (ECF: Lim et al., CoNEXT 2017, section 3)
//
//	cost(p) <= least cost + Q + W + e
//
// Among eligible paths the policy evens out the queues.
type choice struct {
	*env
	paths    *slots
	recovery *flight

	eligible steer.Set // for new data, as of the last choice
	picked   steer.Set // scratch: the set for a policy
	spare    steer.Set // likewise, if no path is eligible
	least    time.Duration
	longest  time.Duration // of all usable paths
	front    front
	frozen   mono.Time // until then new data goes where something was acknowledged lately
	ping     *path     // is to be measured, as it carries nothing
	steering steering
}

// alikePart: paths whose lengths differ by an eighth are alike. After some round trips a
// length is known no better.
const alikePart = 8

// length is what a packet takes on p without a queue; where round trips differ at random,
// what most of them take. A queue of the longest target explains as much.
func (p *path) length() time.Duration {
	return p.rtt.Empty() + max(0, p.rtt.Random()-cc.TargetCeiling)
}

// cost returns what a packet takes on p beside its queue, as far as that is known.
func (ch *choice) cost(now mono.Time, p *path) time.Duration {
	switch {
	case !p.rtt.Known():
		return sampleMost
	case ch.isLate(now, p):
		return max(p.len, now.Sub(p.since))
	}
	return p.len
}

// survey determines the least cost, and returns the most that is eligible for data that
// waits so long in front of the window.
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
	return least + ch.cfg.Control.Queue() + wait + max(2*ch.hosts.coarse, short/alikePart)
}

// distance is by how much p is longer than the nearest path; 0 for one that is alike.
func (ch *choice) distance(p *path) time.Duration {
	switch d := p.len - ch.least; {
	case !p.rtt.Known():
		return sampleMost
	case d > max(2*ch.hosts.coarse, ch.least/alikePart):
		return d
	}
	return 0
}

// choose picks the path for a train of new messages. A policy that keeps to one path has all
// that work to choose from.
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

// A path seldom dies alone. So for freezeRounds round trips after one failed, new data goes
// where something was acknowledged in the last cleanRounds (REPS, EuroSys 2025, section 3.3).
const (
	freezeRounds = 10
	cleanRounds  = 2
)

// freeze leaves the paths of set that were acknowledged lately, if there are any.
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

// alternative picks a path for the repair of m: an eligible one that it has not been tried
// on, of these one that was acknowledged since it was sent.
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
		// A tail probe looks for a path that is alive. The likeliest is where the
		// peer was heard last: it may have moved away from all the others. When
		// nothing gets through, every second probe goes there.
		return p
	case !fresh.Empty():
		*fits = fresh
	case fits.Empty() && !m.void:
		// No path carries this size any more: only the number can travel. To what was to
		// be repaired for as long as there is a session, there is none left.
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

// nearer returns the path for an acknowledgement of what came on p: p itself, if
// it is one of the shortest, else that of those which the peer was heard on last, if
// that was lately: the peer may have left them because they do not work.
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
