package control

import "github.com/srdtun/srdtun/srd"

// These are the reasons of the drops that keep the ingress queue short. TCP loses whole frames
// or segments of super-frames. Protocols other than TCP lose packets that no sender retransmits.
const (
	DropCodel         = "queue_codel"
	DropCodelSegment  = "queue_codel_segment"
	DropCodelDatagram = "queue_codel_datagram"
)

// Meant reports whether drops for a reason are normal in a healthy tunnel. Redundant copies of
// messages, and congestion signals to senders, are normal drops.
func Meant(reason string) bool {
	switch reason {
	case DropCodel, DropCodelSegment, DropCodelDatagram:
		return true
	}
	return meantBySRD[reason]
}

// Told reports whether a summary of drops includes drops for the reason. DropCodelDatagram is
// normal, but summaries include it, because the application loses each dropped datagram.
func Told(reason string) bool { return !Meant(reason) || reason == DropCodelDatagram }

// meantBySRD maps the name of each drop reason of the transport to whether it is normal.
var meantBySRD = func() map[string]bool {
	m := map[string]bool{}
	for r := range srd.NumReasons {
		m[r.String()] = r.Meant()
	}
	return m
}()
