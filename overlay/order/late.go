package order

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A late frame is one for which its flow no longer waits. maxLate bounds the number of late frames
// of a flow that are still being reassembled, and lateLife bounds their lifetime.
const (
	maxLate  = 16
	lateLife = time.Second
)

type lates struct {
	n  int
	at [maxLate]*partial
}

func (l *lates) find(seq uint32) *partial {
	if l == nil {
		return nil
	}
	for _, p := range l.at[:l.n] {
		if p.seq == seq {
			return p
		}
	}
	return nil
}

// keepLate moves the partial frame p, for which its flow no longer waits, to the late frames of the
// flow. It is better to deliver such a frame late, when its missing part arrives, than to lose it.
func (g *Reassembler) keepLate(now mono.Time, p *partial) {
	fl := p.flow
	if fl.late != nil && fl.late.n == maxLate {
		g.discard(fl.late.at[0])
	}
	if fl.late == nil {
		fl.late = reuse(&g.spare.lates)
		g.memory += latesBytes
	}
	fl.late.at[fl.late.n] = p
	fl.late.n++
	g.lates.push(now, p)
}

// discard drops a late frame that can no longer be completed.
func (g *Reassembler) discard(p *partial) {
	g.stats.Voided++
	g.leaveLate(p)
}

func (g *Reassembler) leaveLate(p *partial) {
	fl := p.flow
	l := fl.late
	i := 0
	for l.at[i] != p {
		i++
	}
	copy(l.at[i:], l.at[i+1:l.n])
	l.n--
	l.at[l.n] = nil
	if l.n == 0 {
		fl.late = nil
		g.spare.lates = keep(g.spare.lates, l, spareLates)
		g.memory -= latesBytes
	}
	g.release(p)
}

// addLate adds a message to a late frame. A completed late frame is delivered out of order,
// because the inner protocol can reorder it.
func (g *Reassembler) addLate(now mono.Time, fl *flow, h *header, m *srd.Message) {
	p := fl.late.find(h.seq)
	if p == nil {
		if m.Expired {
			return // no frame waits for this one, and no part of it has arrived before
		}
		p = g.acquire(fl, h.seq)
		g.keepLate(now, p)
	}
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
