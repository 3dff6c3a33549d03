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
	paths    *slots
	recovery *flight

	picked   steer.Set // scratch: what a policy may choose from
	spare    steer.Set // likewise
	others   steer.Set // likewise, when those that are near are late
	frozen   mono.Time // until then only paths heard lately, and soon, carry new data
	steering steering
	reach    reach
}

// alternative picks a path for m: one it has not been tried on, if there is, that
// something has arrived on since it was first sent.
func (ch *choice) alternative(now mono.Time, m *outMsg) *path {
	need := wire.Overhead + wire.MessageOverhead + len(m.m.Data)
	var fresh, heard steer.Set
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
		}
	}
	// Others may have died with the one it was lost on, those that were heard have not (REPS, "freezing").
	for _, better := range []*steer.Set{&heard, ch.eligible(now, &ch.reach.quick)} {
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

// choose picks the path for a train of new messages: among those that are near and not late. If
// that leaves none, lateness is no reason. A policy that keeps to one path, of a flow or
// altogether, has all that work to choose from.
func (ch *choice) choose(now mono.Time) *path {
	settled := ch.steering.scope != steer.PerTrain
	from := &ch.paths.usable
	if !settled {
		from = ch.eligible(now, &ch.reach.near)
	}
	set, spare := &ch.picked, &ch.spare
	*set, *spare = steer.Set{}, steer.Set{}
	for _, p := range ch.paths.table {
		if !from.Has(int(p.slot)) || !ch.paths.usable.Has(int(p.slot)) || !p.carries(ch.paths.packet) || p.sent.Full() {
			continue
		}
		spare.Add(int(p.slot))
		if settled || !ch.isLate(now, p) {
			set.Add(int(p.slot))
		}
	}
	if !settled && now < ch.frozen {
		ch.freeze(now, set)
	}
	if set.Empty() {
		set = spare
	}
	if set.Empty() {
		return nil
	}
	return ch.paths.table[ch.cfg.Policy.Pick(now, set, ch.steering.ahead)]
}

// A path seldom dies alone, nor does a link become slow under one of its paths only. So for freezeRounds
// round trips after a path fell silent, new data goes on those alone that were heard in the last
// cleanRounds, and within cleanRTT of one: what took longer came through a queue that others do
// not have (REPS, "freezing mode"). Where most have such a queue, the few that were lucky would
// have it next.
const (
	freezeRounds = 10
	cleanRounds  = 2
	cleanRTT     = 1.5
	cleanPart    = 3 // of all that are in time, that has to be clean
)

// freeze leaves those of set that are clean, if they are not too few.
func (ch *choice) freeze(now mono.Time, set *steer.Set) {
	var clean steer.Set
	for slot := set.Next(0); slot >= 0; slot = set.Next(slot + 1) {
		if ch.clean(now, ch.paths.table[slot]) {
			clean.Add(slot)
		}
	}
	if cleanPart*clean.Len() >= set.Len() {
		*set = clean
	}
}

// clean reports whether a packet on p was acknowledged lately, and soon after it was
// sent.
func (ch *choice) clean(now mono.Time, p *path) bool {
	srtt := ch.rtt.Smoothed()
	last, _ := p.rtt.Latest()
	return now.Sub(p.heard) <= cleanRounds*srtt+ch.hosts.ackMost() &&
		last <= time.Duration(cleanRTT*float64(srtt))+ch.hosts.ackMost()
}

// eligible returns the paths that a packet may go on if its policy may send every packet
// anywhere: those that are near for what it is. When all of these are late they take at least as
// long as they have been silent, and others that do not are better (ECF's comparison, with
// what is known by now). That a path is not late, as nothing is under way on it, says nothing of the
// others when all that was sent on any of them lately was in vain.
func (ch *choice) eligible(now mono.Time, near *steer.Set) *steer.Set {
	silent, since, newest, well := sampleMost, now, mono.Time(0), false
	for slot := near.Next(0); slot >= 0; slot = near.Next(slot + 1) {
		p := ch.paths.table[slot]
		if !ch.paths.usable.Has(slot) {
			continue
		}
		newest = max(newest, p.newest)
		if !ch.isLate(now, p) {
			well = true
			continue
		}
		silent, since = min(silent, now.Sub(p.since)), min(since, p.since)
	}
	switch {
	case since < now && since > newest:
		silent = now.Sub(since)
	case well:
		return near
	}
	ch.others = steer.Set{}
	for slot := ch.paths.usable.Next(0); slot >= 0; slot = ch.paths.usable.Next(slot + 1) {
		if p := ch.paths.table[slot]; !near.Has(slot) && p.rtt.Known() && p.length() <= silent && !ch.isLate(now, p) {
			ch.others.Add(slot)
		}
	}
	if ch.others.Empty() {
		return near
	}
	return &ch.others
}
