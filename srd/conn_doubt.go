package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// doubts are about paths that may have died together with one that fell silent, for
// policies that may send every packet anywhere. A cable carries many source ports, and
// to find each out by itself costs a repair that all of a flow waits for: with 16 dead
// ones of 63, a flow of 9 MB stood still ten times for 0.2 ms, one after the other. So
// near paths that were not heard since the silent path should have been are asked, by a
// packet without data, and carry nothing new until they answer, as long as there are
// others.
type doubts struct {
	unsure steer.Set // paths not heard since one fell silent
	ask    steer.Set // of those, the ones to be asked now
	since  mono.Time // when the packet was sent that showed the silent path to be so
	asked  mono.Time // when the last questions began
	tries  int       // how often was asked
	refuge steer.Set // scratch: those that were heard since, when all near ones are in doubt
}

// doubtOthers begins to doubt paths that were not heard since what was sent at since on
// p, which fell silent: others were, so p should have been.
func (c *Conn) doubtOthers(now mono.Time, p *path, since mono.Time) {
	d := &c.doubts
	if c.steering.scope != steer.PerTrain {
		return
	}
	for _, q := range c.paths {
		if q != p && q.heard <= since && c.usable.Has(int(q.slot)) && c.reach.near.Has(int(q.slot)) && !d.unsure.Has(int(q.slot)) {
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
func (c *Conn) eligible(near *steer.Set) *steer.Set {
	if c.desperate() {
		return &c.usable
	}
	d := &c.doubts
	if d.unsure.Empty() || !c.usable.Without(d.unsure).Disjoint(*near) {
		return near
	}
	d.refuge = steer.Set{}
	for _, p := range c.paths {
		if p.heard > d.since && c.usable.Has(int(p.slot)) && !d.unsure.Has(int(p.slot)) {
			d.refuge.Add(int(p.slot))
		}
	}
	if d.refuge.Empty() {
		return near
	}
	return &d.refuge
}

// sure ends the doubt about p: something sent on it was answered, or it is not used.
func (c *Conn) sure(p *path) {
	c.doubts.unsure.Remove(int(p.slot))
	c.doubts.ask.Remove(int(p.slot))
}

// checkDoubts takes paths that were asked as often as a silent one is probed before it is
// down, and have not answered, for silent themselves.
func (c *Conn) checkDoubts(now mono.Time) {
	d := &c.doubts
	if d.tries < downAfter || now < c.nextRound() {
		return
	}
	silent := d.unsure
	*d = doubts{}
	for slot := silent.Next(0); slot >= 0; slot = silent.Next(slot + 1) {
		c.suspect(now, c.paths[slot])
	}
}

// nextRound returns when those that have not answered are asked again: at the times of a
// silent path's probes.
func (c *Conn) nextRound() mono.Time {
	return c.doubts.asked.Add(max(probeFirst<<c.doubts.tries, 2*c.rtt.Smoothed()))
}

// nextQuestion asks the first path that is in doubt.
func (c *Conn) nextQuestion(now mono.Time, t *Train) bool {
	d := &c.doubts
	if d.unsure.Empty() {
		return false
	}
	if d.ask.Empty() && d.tries < downAfter && now >= c.nextRound() {
		d.ask, d.asked, d.tries = d.unsure, now, d.tries+1
	}
	for !d.ask.Empty() {
		p := c.paths[d.ask.First()]
		d.ask.Remove(int(p.slot))
		if p.sent.Full() || !c.usable.Has(int(p.slot)) {
			continue
		}
		c.single(now, t, p, ledger.Silent, 0, wire.AppendPing)
		return true
	}
	return false
}
