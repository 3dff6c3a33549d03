package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// reach tells near paths from far ones, for policies that may send every packet
// anywhere.
//
// An application gets its bytes in order, so what goes on a longer path is waited
// for, and makes the whole as slow as that path. A path's distance is by how much
// what a packet takes on it without a queue is longer than on the shortest of all. That
// is the mean, not the least round trip: where delays differ at random, the least of a few
// is low by luck, and a wait counted from there is for the most part no queue, so that of
// many ports on a long and unsteady path some always look near. New data goes where it
// arrives first: a path is near while its distance is no more than what packets
// have to wait on the others anyway, for their queues. So a path that is a little
// longer helps out when the shorter ones are full, which is when it pays; one that
// is much longer, as by a satellite, never does, and is kept for the day when the
// others fail. Paths whose distances hardly differ are alike, and always near.
//
// What waits in front of the window counts as well. When it is more than a path is longer,
// that path is as good as a near one for what waits: it arrives there before its turn
// comes on the others. It is no place for repairs, which all that follows waits for.
//
// Acknowledgements go on the nearest path (ackPath). Then round trips differ by as
// much as the ways there do.
type reach struct {
	near  steer.Set // for new data
	quick steer.Set // those that would be near if nothing waited in front: for repairs
	front front
	short time.Duration // least round trip of all
	least time.Duration // length of the nearest
	most  time.Duration // and of the farthest
	cost  time.Duration // queue of what was sent lately, and what that came later by (behind), smoothed
	heard mono.Time     // last sample of cost
	at    mono.Time     // when near was determined
	ping  *path         // a far path that is to be measured
}

const (
	// alikeGranules and alikePart: paths whose lengths differ by no more than two
	// granules, or an eighth of the least, are alike. A length is known no better than
	// that after some round trips.
	alikeGranules = 2
	alikePart     = 8
	// costPart is the weight of a new sample in the smoothed cost, 1/16.
	costPart = 16
)

// distance returns by how much p is longer than the nearest; 0 for one that is
// alike. One that is not measured yet is taken for a long one, unless all are.
func (ch *choice) distance(p *path) time.Duration {
	r := &ch.reach
	d := p.length() - r.least
	switch {
	case r.least == 0:
		return 0
	case !p.rtt.Known():
		return sampleMost
	case d <= max(alikeGranules*ch.hosts.coarse, r.least/alikePart):
		return 0
	}
	return d
}

// length returns how long p is to those who wait for all packets: what a packet takes
// without a queue, and how far the slower ones lie above that if the path is an unsteady
// one. Below a millisecond nothing is random but what queues do, and the least round trip is
// what it takes.
func (p *path) length() time.Duration { return p.rtt.Empty() + p.unsteady() }

// unsteady returns by how much packets on p are late at random. What is less than the
// longest queue that is aimed for is not told from what a queue does.
func (p *path) unsteady() time.Duration { return max(0, p.rtt.Random()-cc.TargetCeiling) }

// survey determines which paths are near, if that was long ago or those that are for
// repairs have all gone.
func (ch *choice) survey(now mono.Time) {
	r := &ch.reach
	if r.at != 0 && now.Sub(r.at) < ch.hosts.coarse && !ch.paths.usable.Disjoint(r.quick) {
		return
	}
	r.at, r.ping = now, nil
	ch.compare()
	if now.Sub(r.heard) > 2*ch.rtt.Smoothed()+ch.hosts.coarse {
		r.cost = 0 // what was sent then has left the queues
	}
	r.near, r.quick = steer.Set{}, steer.Set{}
	cost := max(0, r.cost)
	for _, p := range ch.paths.table {
		if !ch.paths.usable.Has(int(p.slot)) {
			continue
		}
		d := ch.distance(p)
		if d <= cost {
			r.quick.Add(int(p.slot))
		}
		if d <= cost+r.front.wait {
			r.near.Add(int(p.slot))
		} else if r.ping == nil && p.inflight == 0 && now.Sub(ch.active) < probeMost && now.Sub(p.pinged) >= probeMost {
			r.ping = p
		}
	}
}

// compare finds the shortest of the paths that work, and the longest.
func (ch *choice) compare() {
	r := &ch.reach
	r.short, r.least, r.most = 0, 0, 0
	for _, p := range ch.paths.table {
		if !ch.paths.usable.Has(int(p.slot)) {
			continue
		}
		if p.rtt.Known() && (r.least == 0 || p.length() < r.least) {
			r.least = p.length()
		}
		if base := p.rtt.Base(); p.rtt.Known() && (r.short == 0 || base < r.short) {
			r.short = base
		}
		r.most = max(r.most, p.length())
	}
}

// costs notes what a packet on p had to wait for: its queue, and by how much it came later
// than it would have on the nearest path, in its turn there. queue is what it took more than is usual without one; by
// chance that may be less than nothing.
func (ch *choice) costs(now mono.Time, p *path, queue time.Duration) {
	r := &ch.reach
	if !r.near.Has(int(p.slot)) {
		return
	}
	r.cost += (queue + ch.behind(p) - r.cost) / costPart
	r.heard = now
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
