package control

import "github.com/srdtun/srdtun/srd"

// These reasons count the drops that keep the ingress queue short: of TCP whole frames, and segments
// of a super-frame; of all other protocols packets, which nobody sends again.
const (
	DropCodel         = "queue_codel"
	DropCodelSegment  = "queue_codel_segment"
	DropCodelDatagram = "queue_codel_datagram"
)

// Meant reports whether drops for this reason are normal in a healthy tunnel. Such drops
// are copies sent on purpose, and signals to senders to slow down. They are counted like all
// others.
func Meant(reason string) bool {
	switch reason {
	case DropCodel, DropCodelSegment, DropCodelDatagram:
		return true
	}
	return meantBySRD[reason]
}

// Told reports whether a summary names the reason. A datagram that keeps a queue short is lost for the
// application, which may look for it.
func Told(reason string) bool { return !Meant(reason) || reason == DropCodelDatagram }

// meantBySRD tells the same of the transport's reasons, by name.
var meantBySRD = func() map[string]bool {
	m := map[string]bool{}
	for r := range srd.NumReasons {
		m[r.String()] = r.Meant()
	}
	return m
}()
