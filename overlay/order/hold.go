package order

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// holdRounds is the time, in round trips, for which a frame waits on paths with long round
	// trips. The sender retransmits a lost message for 4 round trips, so a frame waits for 5.
	holdRounds = 5
	// MostHold bounds the wait of a frame, however long the round trip is. A longer wait is
	// useless, because Linux's TCP times out within a second even on a path to the Moon.
	MostHold = time.Second
	// partLife is the lifetime of a frame's entry if the frame is incomplete, given up, or
	// delivered ahead of an earlier frame. The entry ends sooner if a complete frame waits behind
	// it. The sender retransmits a message for a second or for four round trips. If nothing arrives
	// for longer than that, the sender gave up without a tombstone, for instance because its
	// process ended.
	partLife = 10 * time.Second
)

// HoldFor returns how long a frame waits for an earlier one, given the smoothed round trip rtt. If
// the round trip is unknown, `rtt` is 0. HoldFor returns the configured minimum `least`, or more if
// the sender may retransmit messages for longer than that.
func HoldFor(least, rtt time.Duration) time.Duration {
	return max(least, min(holdRounds*rtt, MostHold))
}

// Deadline returns the time at which Advance must be called next.
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

// Advance gives up gaps for which frames have waited long enough, and frames that remained
// incomplete.
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

// skip makes the frame with the number `to` the next frame of flow fl, and continues from there.
// The method skip() delivers complete frames with numbers below `to`, and gives up incomplete
// ones. The method skip() returns the number of skipped gaps.
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

// pass handles a partial frame that is next in order or was given up, and has left its window.
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

// relieve frees memory while more is held than allowed. It first gives up the oldest gap for which
// frames wait, which loses no data. Then it drops late frames, and then incomplete ones, oldest
// first.
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
	g.earned.now = earned // frames that were released by giving up a gap do not add to earned
	g.account()
}
