package order

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// A peer may hold as much as waits for order of what it sends: what it has lately had
// delivered, and something to begin with. A peer that only begins frames, or never sends the
// one that all wait for, delivers nothing, so what it holds stays small; and what all hold is
// bounded by the process's budget, of which each has the same share.
const (
	// firstBytes may be held of a peer of which nothing has arrived yet. It is what comes in a
	// round trip of 30 ms at 1 Gbit/s, before a first frame is whole.
	firstBytes = 4 << 20
	// earnTime is for how long a delivered frame counts, and up to twice that: no frame waits
	// for longer than MostHold, so no more can wait than came in this time.
	earnTime = MostHold
	// earnFactor allows for buffers larger than frames, up to twice as large, and for rates
	// that double each round trip at the beginning.
	earnFactor = 2
)

// earned counts the bytes that were delivered lately.
type earned struct {
	until       mono.Time // the end of this period
	now, before int       // bytes of it, and of the one before
}

// roll begins a new period when it is time.
func (e *earned) roll(now mono.Time) {
	if now < e.until {
		return
	}
	e.before = e.now
	if now >= e.until.Add(earnTime) {
		e.before = 0
	}
	e.now, e.until = 0, now.Add(earnTime)
}

func (e *earned) add(bytes int) { e.now += bytes }

// bytes is what may be held.
func (e *earned) bytes() int { return firstBytes + earnFactor*(e.now+e.before) }

// share is how many bytes of memory may be held now.
func (g *Reassembler) share() int {
	return g.user.Hold(g.memory, min(g.cfg.HeldBytes, g.earned.bytes()))
}

// account tells the budget how much is held.
func (g *Reassembler) account() { g.user.Hold(g.memory, 0) }
