package order

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// holdRounds is for how many round trips a frame waits on long paths: a little
	// longer than the sender repairs what is missing (4 of its round trips).
	holdRounds = 5
	// MostHold bounds the wait whatever the round trip: Linux's TCP has timed out by
	// then even on the way to the Moon.
	MostHold = time.Second
	// partLife is how long a place is kept that nothing behind it waits for: of a frame that was
	// begun, or of one that was given up or handed on while one before it is missing. The sender repairs a message for a second, or four round trips; what is
	// missing after that it has given up without a word, as a process does that ends.
	partLife = 10 * time.Second
)

// HoldFor returns how long frames wait for those before them on a connection with a
// smoothed round trip of rtt (0: unknown): least, but longer where the sender repairs for
// longer.
func HoldFor(least, rtt time.Duration) time.Duration {
	return max(least, min(holdRounds*rtt, MostHold))
}

// Deadline returns when Advance has something to do.
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

// Advance gives up gaps that have been waited for long enough, and frames that nobody
// completed.
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

// skip makes frame to the one that is due in fl, and goes on from there. Of the
// frames before it those that are done are delivered, the others given up. It
// returns the number of gaps.
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

// pass deals with a partial that was taken from its ring because its turn has
// come or is given up.
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

// relieve makes room while too much is held. First goes the gap that has been
// waited for longest, which loses nothing; then what is late; then what was
// begun first.
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
	g.earned.now = earned // what was given up did not come in order
	g.account()
}
