package order

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// A peer may hold memory in proportion to its recently delivered bytes, plus an initial
// allowance. A peer that only begins frames, or withholds one that others wait for, delivers
// nothing, so its allowance stays small. The process's budget bounds the memory of all peers,
// and each peer has the same share.
const (
	// firstBytes is the allowance of a new peer before its first complete frame: a round trip
	// of 30 ms at 1 Gbit/s.
	firstBytes = 4 << 20
	// earnTime is the shortest time for which a delivered frame counts; it counts for at most
	// twice that. No frame waits longer than MostHold, so all waiting frames arrived within
	// this time.
	earnTime = MostHold
	// earnFactor allows for buffers twice as large as their frames, and for rates that double
	// each round trip at the start.
	earnFactor = 2
)

// earned counts the bytes of recent deliveries.
type earned struct {
	until       mono.Time // the end of this period
	now, before int       // bytes of this period, and of the one before
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

// bytes returns the peer's allowance.
func (e *earned) bytes() int { return firstBytes + earnFactor*(e.now+e.before) }

// share returns the bytes of memory that the peer may hold now.
func (g *Reassembler) share() int {
	return g.user.Hold(g.memory, min(g.cfg.HeldBytes, g.earned.bytes()))
}

// account tells the budget how much memory is held.
func (g *Reassembler) account() { g.user.Hold(g.memory, 0) }
