package srd_test

import (
	"testing"
	"time"
)

// On paths that are much longer than the others, or whose responses are late for another
// reason, the challenges of all sizes are sent before the first response. Such a path still
// gets the size that it carries, because a late response does not end the search.
func TestLatePathsGetTheirSize(t *testing.T) {
	for _, far := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		near, long := &link{delay: 100 * time.Microsecond}, &link{delay: far}
		p := newPair(t, 1, near, near, long, long)
		p.connect()
		p.run(10*time.Second, never)
		for side, h := range p.host {
			for _, i := range h.conn.Paths() {
				if i.MTU != 1472 {
					t.Errorf("delay %v: side %d sends %d bytes on the path to %v", far, side, i.MTU, i.Tuple.Remote)
				}
			}
		}
	}
}
