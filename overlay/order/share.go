package order

import (
	"github.com/srdtun/srdtun/srd/mono"
)

// The frames of a peer may take memory in proportion to the bytes that the peer recently delivered,
// plus an initial allowance. If a peer only begins frames, or withholds a frame for which others
// wait, it delivers nothing, and its share stays small. The process's budget bounds the memory of
// all peers, in equal shares.
const (
	// firstBytes is the allowance of a peer before its first complete frame, in bytes. It is the
	// amount of data in a round trip of 30 ms at 1 Gbit/s.
	firstBytes = 4 << 20
	// A delivered frame counts for at least earnTime, and for at most twice that time. No frame
	// waits longer than MostHold, so all waiting frames have arrived within earnTime.
	earnTime = MostHold
	// earnFactor allows for buffers twice as large as their frames, and for rates that double in
	// each round trip of slow start.
	earnFactor = 2
)

// earned counts the bytes of recently delivered frames of a peer.
type earned struct {
	until       mono.Time // the end of this period
	now, before int       // bytes of this period, and of the one before
}

// roll starts a new period if the present one is over.
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

func (e *earned) bytes() int { return firstBytes + earnFactor*(e.now+e.before) }

// share returns how many bytes of memory the peer may hold now.
func (g *Reassembler) share() int {
	return g.user.Hold(g.memory, min(g.cfg.HeldBytes, g.earned.bytes()))
}

func (g *Reassembler) account() { g.user.Hold(g.memory, 0) }
