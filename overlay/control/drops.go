package control

import "github.com/srdtun/srdtun/srd"

// Reasons of the drops that keep the ingress queue short. Of TCP, frames and segments of
// super-frames are dropped. Of all other protocols, packets are dropped that no sender
// retransmits.
const (
	DropCodel         = "queue_codel"
	DropCodelSegment  = "queue_codel_segment"
	DropCodelDatagram = "queue_codel_datagram"
)

// Meant reports whether drops for this reason are normal in a healthy tunnel. Such drops are
// redundant copies, and congestion signals to senders. All drops are counted, normal or not.
func Meant(reason string) bool {
	switch reason {
	case DropCodel, DropCodelSegment, DropCodelDatagram:
		return true
	}
	return meantBySRD[reason]
}

// Told reports whether a summary names the reason. A dropped datagram is lost to the
// application, so a summary names DropCodelDatagram too.
func Told(reason string) bool { return !Meant(reason) || reason == DropCodelDatagram }

// meantBySRD maps the name of each drop reason of the transport to whether it is normal.
var meantBySRD = func() map[string]bool {
	m := map[string]bool{}
	for r := range srd.NumReasons {
		m[r.String()] = r.Meant()
	}
	return m
}()
