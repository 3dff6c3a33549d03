package control

import "github.com/srdtun/srdtun/srd"

// DropCodel and DropCodelSegment count what the queue in front drops so that it stays short:
// whole frames, and segments of one.
const (
	DropCodel        = "queue_codel"
	DropCodelSegment = "queue_codel_segment"
)

// Meant reports whether what is counted under a reason to drop belongs to a tunnel that is
// well: copies that were sent on purpose and came, and the signal to senders to slow down.
// They are counted like all others, and are no sign of a fault.
func Meant(reason string) bool {
	switch reason {
	case DropCodel, DropCodelSegment:
		return true
	}
	return meantBySRD[reason]
}

// meantBySRD are those of the transport, by name.
var meantBySRD = func() map[string]bool {
	m := map[string]bool{}
	for r := range srd.NumReasons {
		m[r.String()] = r.Meant()
	}
	return m
}()
