package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Flowlet timeouts (CONGA, sections 3.4 and 5).
const (
	// DefaultFlowletTimeout is what CONGA's and LetFlow's authors use.
	DefaultFlowletTimeout = 500 * time.Microsecond
	// FlowTimeout is longer than any packet spent in CONGA's testbed, so that no
	// flow was ever reordered: CONGA-Flow.
	FlowTimeout = 13 * time.Millisecond
)

// flowSlots is how many flows can be told apart: as many as the overlay keeps in
// order each for itself, and of the same hash, so that what shares an entry here
// shares its order there. CONGA's switch has 65,536 for a rack of servers
// (section 3.4); this is one peer.
const flowSlots = 4096

// flowlet is an entry of the flowlet table.
type flowlet struct {
	path uint16 // of the last packet, plus one; 0: none yet
	tick uint32 // the timer period of the last packet
}

// last returns the path of the entry's last packet, or -1.
func (e *flowlet) last() int { return int(e.path) - 1 }

// flowlets is CONGA's flowlet table (section 3.4). There each entry has a valid
// bit and an age bit. A packet clears the age bit; a timer that fires every
// timeout sets it, and makes the entry invalid where it is set already. So a gap
// between one and two timeouts ends a flowlet. Here an entry has the period of its
// last packet instead, from which both bits follow without a timer: the entry is
// aged in the next period, and invalid in the one after.
type flowlets struct {
	timeout time.Duration
	entries []flowlet
}

// touch returns the entry of flow as a packet of it comes, and whether its
// flowlet still goes on.
func (t *flowlets) touch(now mono.Time, flow uint32) (e *flowlet, active bool) {
	if t.entries == nil {
		t.entries = make([]flowlet, flowSlots)
	}
	e = &t.entries[flow%flowSlots]
	tick := uint32(now / mono.Time(t.timeout))
	active = e.path != 0 && tick-e.tick < 2
	e.tick = tick
	return e, active
}
