package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// DefaultFlowletTimeout is the value used by the authors of CONGA and LetFlow (CONGA,
	// section 3.4).
	DefaultFlowletTimeout = 500 * time.Microsecond
	// FlowTimeout is the timeout of CONGA-Flow. It is longer than any packet was delayed in CONGA's
	// testbed, so no flow was reordered there (CONGA, section 5).
	FlowTimeout = 13 * time.Millisecond
)

// flowSlots is the number of flows that can be distinguished. The overlay restores the order of
// as many flows, which it distinguishes by the same hash. So flows that share an entry of this
// table are also one flow for the overlay. CONGA's switch has 65,536 entries for a rack of
// servers (section 3.4), but this table serves only one peer.
const flowSlots = 4096

// flowlet is an entry of the flowlet table.
type flowlet struct {
	path uint16 // path of the last packet, plus 1; 0: none yet
	tick uint32 // timer period of the last packet
}

// last returns the path of the entry's last packet, or -1.
func (e *flowlet) last() int { return int(e.path) - 1 }

// flowlets is CONGA's flowlet table (section 3.4). In the paper each entry has a valid bit and
// an age bit. A packet of the flow clears the age bit. Every timeout, a timer sets the age bits
// that are clear, and invalidates entries whose age bit is already set. So a flowlet ends after
// a gap of between one and two timeouts. In srdtun an entry contains the timer period of its
// last packet, from which both bits follow without a timer. The entry counts as aged in the next
// period, and as invalid in the period after that.
type flowlets struct {
	timeout time.Duration
	entries []flowlet
}

// touch records a packet of `flow`, and returns the flow's entry and whether the flow's flowlet
// continues.
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
