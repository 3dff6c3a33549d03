package control

import "github.com/srdtun/srdtun/srd"

// DropCodel and DropCodelSegment count the drops that keep the ingress queue short: whole
// frames, and segments of a super-frame.
const (
	DropCodel        = "queue_codel"
	DropCodelSegment = "queue_codel_segment"
)

// Meant reports whether drops for this reason are normal in a healthy tunnel. Such drops
// are copies sent on purpose, and signals to senders to slow down. They are counted like all
// others.
func Meant(reason string) bool {
	switch reason {
	case DropCodel, DropCodelSegment:
		return true
	}
	return meantBySRD[reason]
}

// meantBySRD tells the same of the transport's reasons, by name.
var meantBySRD = func() map[string]bool {
	m := map[string]bool{}
	for r := range srd.NumReasons {
		m[r.String()] = r.Meant()
	}
	return m
}()
