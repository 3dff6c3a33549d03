package srd

import (
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// doubts are about stale paths: those that may have died together with one that fell
// silent, for policies that may send every packet anywhere. A cable carries many source
// ports, and finding each dead one by itself costs a repair that the whole flow waits
// for. So near paths that were not heard since the silent path should have been are
// frozen, as REPS does (EuroSys): they carry nothing new, as long as there are others,
// until they answer a packet without data.
type doubts struct {
	unsure   steer.Set // paths not heard since one fell silent
	ask      steer.Set // of those, the ones to be asked now
	since    mono.Time // when the packet was sent that showed the silent path to be so
	asked    mono.Time // when the last questions began
	tries    int       // how often was asked
	fallback steer.Set // scratch: those that were heard since, when all near ones are in doubt
}

// doubtOthers begins to doubt paths that were not heard since what was sent at since on
// p, which fell silent: others were, so p should have been.
func (ch *choice) doubtOthers(now mono.Time, p *path, since mono.Time) {
	d := &ch.doubts
	if ch.steering.scope != steer.PerTrain {
		return
	}
	for _, q := range ch.paths.table {
		if q != p && q.heard <= since && ch.paths.usable.Has(int(q.slot)) && ch.reach.near.Has(int(q.slot)) && !d.unsure.Has(int(q.slot)) {
			d.unsure.Add(int(q.slot))
			d.ask.Add(int(q.slot))
			d.asked, d.tries, d.since = now, 0, since // all are given the time of the newest
		}
	}
}

// eligible returns the paths that a packet may go on if its policy may send every packet
// anywhere: those that are near for what it is; all that work when tail probes go
// unanswered; and when all near ones that are left are in doubt, those that were heard
// since, far as they are. A cable that died may have been that of every near path, as when
// a queue made those over the others look far.
func (ch *choice) eligible(near *steer.Set) *steer.Set {
	if ch.desperate() {
		return &ch.paths.usable
	}
	d := &ch.doubts
	if d.unsure.Empty() || !ch.paths.usable.Without(d.unsure).Disjoint(*near) {
		return near
	}
	d.fallback = steer.Set{}
	for _, p := range ch.paths.table {
		if p.heard > d.since && ch.paths.usable.Has(int(p.slot)) && !d.unsure.Has(int(p.slot)) {
			d.fallback.Add(int(p.slot))
		}
	}
	if d.fallback.Empty() {
		return near
	}
	return &d.fallback
}

// sure ends the doubt about p: something sent on it was answered, or it is not used.
func (ch *choice) sure(p *path) {
	ch.doubts.unsure.Remove(int(p.slot))
	ch.doubts.ask.Remove(int(p.slot))
}

// checkDoubts takes paths that were asked as often as a silent one is probed before it is
// down, and have not answered, for silent themselves.
func (ch *choice) checkDoubts(now mono.Time) {
	d := &ch.doubts
	if d.tries < downAfter || now < ch.nextRound() {
		return
	}
	silent := d.unsure
	*d = doubts{}
	for slot := silent.Next(0); slot >= 0; slot = silent.Next(slot + 1) {
		ch.paths.suspect(now, ch.paths.table[slot])
	}
}

// nextRound returns when those that have not answered are asked again: at the times of a
// silent path's probes.
func (ch *choice) nextRound() mono.Time {
	return ch.doubts.asked.Add(max(probeFirst<<ch.doubts.tries, 2*ch.rtt.Smoothed()))
}
