package order

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// holdRounds is how long a frame waits on long paths, in round trips. The sender
	// repairs a message for 4 of its round trips, so holdRounds is a little longer.
	holdRounds = 5
	// MostHold bounds the wait for any round trip: within a second, Linux's TCP times
	// out even on a path to the Moon.
	MostHold = time.Second
	// partLife is how long a frame keeps its entry if it is incomplete, given up, or
	// delivered ahead of an earlier one. A complete frame that waits behind it ends this
	// time sooner. The sender repairs a message for a second or for four round trips.
	// After that the sender has given up without a tombstone, for example because its
	// process ended.
	partLife = 10 * time.Second
)

// HoldFor returns how long a frame waits for an earlier one, at a smoothed round trip of
// rtt (0: unknown). It is the configured minimum, or more on paths whose sender repairs
// for longer.
func HoldFor(least, rtt time.Duration) time.Duration {
	return max(least, min(holdRounds*rtt, MostHold))
}

// Deadline returns the time of the next call of Advance.
func (g *Reassembler) Deadline() mono.Time {
	at := mono.Never
	if p := g.waits.head; p != nil {
		at = p.since.Add(g.cfg.Hold)
	}
	if p := g.lates.head; p != nil {
		at = at.Min(p.since.Add(lateLife))
	}
	if p := g.parts.head; p != nil {
		at = at.Min(p.since.Add(partLife))
	}
	return at
}

// Advance gives up gaps whose wait is over, and frames that have stayed incomplete.
func (g *Reassembler) Advance(now mono.Time) {
	for p := g.lates.head; p != nil && now >= p.since.Add(lateLife); p = g.lates.head {
		g.discard(p)
	}
	for p := g.waits.head; p != nil && now >= p.since.Add(g.cfg.Hold); p = g.waits.head {
		g.stats.TimedOut += g.skip(now, p.flow, p.seq)
	}
	for p := g.parts.head; p != nil && now >= p.since.Add(partLife); p = g.parts.head {
		g.stats.TimedOut += g.skip(now, p.flow, p.seq+1)
	}
	g.account()
}

// skip makes frame to the next frame of fl, and continues from there. It delivers the
// complete frames before it, and gives up the others. It returns the number of gaps.
func (g *Reassembler) skip(now mono.Time, fl *flow, to uint32) (gaps uint64) {
	inGap := false
	for fl.next != to {
		seq, ok := fl.first()
		if !ok || seq-fl.next > to-fl.next {
			seq = to
		}
		p := (*partial)(nil)
		if seq == fl.next {
			p = fl.get(seq)
			seq++
		}
		missing := p == nil || !p.done()
		if missing && !inGap {
			gaps++
		}
		inGap = missing
		if p != nil {
			g.remove(p)
			g.pass(now, p)
		}
		fl.next = seq
	}
	g.run(now, fl)
	return gaps
}

// pass handles a partial frame whose turn has come or was given up, and which is out of
// its window.
func (g *Reassembler) pass(now mono.Time, p *partial) {
	if !p.done() {
		g.keepLate(now, p)
		return
	}
	if p.on == &g.waits {
		g.stats.Reordered++
		held := now.Sub(p.since)
		g.stats.Longest = max(g.stats.Longest, held)
		g.stats.Held += held
		if p.frame != nil {
			p.frame.Held = held
		}
	}
	if p.frame != nil {
		g.handOn(p)
	}
	g.release(p)
}

// relieve frees memory while too much is held. It first gives up the oldest gap that
// frames wait for, which loses no data. Then it drops late frames, and then incomplete
// ones, oldest first.
func (g *Reassembler) relieve(now mono.Time) {
	most := g.share()
	n := &g.stats.Overflow
	if most < g.cfg.HeldBytes {
		n = &g.stats.OverShare
	}
	earned := g.earned.now
	for g.memory > most {
		switch {
		case g.waits.head != nil:
			p := g.waits.head
			*n += g.skip(now, p.flow, p.seq)
		case g.lates.head != nil:
			*n++
			g.discard(g.lates.head)
		default:
			p := g.parts.head
			*n += g.skip(now, p.flow, p.seq+1)
		}
	}
	g.earned.now = earned // frames released by giving up earn nothing
	g.account()
}
