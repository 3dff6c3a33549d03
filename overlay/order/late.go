package order

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// maxLate bounds the frames of a flow that are still put together although their
// turn has passed; lateLife how long.
const (
	maxLate  = 16
	lateLife = time.Second
)

// pension moves p, whose turn is given up, to the late frames of its flow: if
// the rest comes, late is better than never.
func (g *Gatherer) pension(now mono.Time, p *partial) {
	fl := p.flow
	if len(fl.late) == maxLate {
		g.bury(fl.late[0])
	}
	fl.late = append(fl.late, p)
	g.lates.push(now, p)
}

// bury drops a late frame that will not be completed.
func (g *Gatherer) bury(p *partial) {
	g.stats.Voided++
	g.leaveLate(p)
}

func (g *Gatherer) leaveLate(p *partial) {
	fl := p.flow
	i := slices.Index(fl.late, p)
	fl.late = slices.Delete(fl.late, i, i+1)
	g.release(p)
}

// addLate takes a message of a frame whose turn has passed. A frame is handed on
// out of turn when it is complete: its flow's own protocol sorts it out.
func (g *Gatherer) addLate(now mono.Time, fl *flow, h *header, m *srd.Message) {
	i := slices.IndexFunc(fl.late, func(p *partial) bool { return p.seq == h.seq })
	if i < 0 {
		if m.Expired {
			return // nothing waits for it, and nothing of it is here
		}
		g.pension(now, g.acquire(fl, h.seq))
		i = len(fl.late) - 1
	}
	p := fl.late[i]
	g.fill(p, h, m)
	if !p.done() {
		return
	}
	if !p.void {
		g.stats.Late++
		g.handOn(p)
	}
	g.leaveLate(p)
}
