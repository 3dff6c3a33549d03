package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// choice picks the path for each train, by a policy among those that are eligible.
type choice struct {
	*env
	paths    *paths
	receiver *receiver
	recovery *recovery

	picked   steer.Set // scratch: what a policy may choose from
	spare    steer.Set // likewise
	steering steering
	reach    reach
	doubts   doubts
	frozen   mono.Time // until then only paths heard lately carry data
}

// alternative picks a path for m: one it has not been tried on, if there is, that
// something has arrived on since it was first sent, and that has lost nothing lately.
// Where one spine of several loses packets, a repair on it that is lost again is waited
// for twice as long, and the flow's other packets with it.
func (ch *choice) alternative(now mono.Time, m *outMsg) *path {
	need := wire.Overhead + wire.MessageOverhead + len(m.m.Data)
	var fresh, heard, whole, soon steer.Set
	fits := &ch.picked
	*fits = steer.Set{}
	for _, p := range ch.paths.table {
		if !ch.paths.usable.Has(int(p.slot)) || !p.carries(need) {
			continue
		}
		fits.Add(int(p.slot))
		if m.tried&(1<<(p.slot%64)) == 0 {
			fresh.Add(int(p.slot))
			if p.heard > m.first {
				heard.Add(int(p.slot))
			}
			if p.lossless(now, &ch.slack, &ch.rtt) {
				whole.Add(int(p.slot))
			}
			if ch.clean(now, p) {
				soon.Add(int(p.slot))
			}
		}
	}
	if e := ch.eligible(&ch.reach.quick); !fresh.Disjoint(*e) {
		fresh = fresh.Common(*e)
	}
	// Others may have died with the one it was lost on, these have not. Those that
	// have no long queue are better still.
	for _, better := range []steer.Set{heard, whole, soon} {
		if !fresh.Disjoint(better) {
			fresh = fresh.Common(better)
		}
	}
	switch p, tail := ch.receiver.lastPath, &ch.recovery.timer; {
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

// choose picks the path for a train of new messages: among those that do not
// hold much more than their share of the window already, are not late, and while
// frozen, came back clean lately (REPS, "freezing": a path that died seldom died
// alone). If that leaves none, lateness is no reason. A policy that keeps to one
// path, of a flow or altogether, has all that work to choose from.
func (ch *choice) choose(now mono.Time) *path {
	settled := ch.steering.scope != steer.PerTrain
	from := &ch.paths.usable
	if !settled {
		from = ch.eligible(&ch.reach.near)
	}
	set, spare := &ch.picked, &ch.spare
	*set, *spare = steer.Set{}, steer.Set{}
	for _, p := range ch.paths.table {
		if !from.Has(int(p.slot)) || !ch.paths.usable.Has(int(p.slot)) || !p.carries(ch.paths.packet) || p.sent.Full() {
			continue
		}
		spare.Add(int(p.slot))
		if settled || ((now >= ch.frozen || ch.clean(now, p)) && !ch.doubts.unsure.Has(int(p.slot)) && !p.late(now, &ch.slack)) {
			set.Add(int(p.slot))
		}
	}
	if !settled && from.Len() > 1 {
		ch.level(set, spare)
	}
	if set.Empty() {
		set = spare
	}
	if set.Empty() {
		return nil
	}
	return ch.paths.table[ch.cfg.Policy.Pick(now, set, ch.steering.ahead)]
}

// level takes those paths out of set and spare that hold more than pathShare times
// what each of set would, if these carried the window alone; or each of spare, if set
// is empty.
func (ch *choice) level(set, spare *steer.Set) {
	n := set.Len()
	if n == 0 {
		n = max(1, spare.Len())
	}
	most := max(2*ch.paths.packet, pathShare*ch.cfg.Control.Window()/n)
	for _, p := range ch.paths.table {
		if p.inflight >= most {
			set.Remove(int(p.slot))
			spare.Remove(int(p.slot))
		}
	}
}

// clean reports whether a packet on p was acknowledged lately, and soon after it was
// sent.
func (ch *choice) clean(now mono.Time, p *path) bool {
	srtt := ch.rtt.Smoothed()
	last, _ := p.rtt.Latest()
	return now.Sub(p.heard) <= cleanRounds*srtt+ch.slack.ackMost &&
		last <= time.Duration(cleanRTT*float64(srtt))+ch.slack.ackMost
}

// desperate reports whether tail probes go unanswered: the near paths may all have
// failed at once, and any other will do. The first probe is mostly answered.
func (ch *choice) desperate() bool { return ch.recovery.timer.backoff >= 2 && !ch.recovery.out.empty() }
