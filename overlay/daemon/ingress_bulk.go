package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// What counts as urgent.
const (
	// urgentBytes is the longest packet that may be a request or an answer somebody
	// waits for.
	urgentBytes = 1000
	// bulkBytes make a frame bulk data: more than one packet on most links.
	bulkBytes = 4000
	// bulkLast is how long a flow counts as bulk after such a frame. Its transfers
	// have ends that are short, one for each write of the application's.
	bulkLast = 100 * time.Millisecond
)

// bulkFlows tells short packets of flows that consist of them, as those of remote
// procedure calls do, from the short ends of bulk data. Flows that fall in one place
// by their hash, one of 256, count as one: a request may then count as bulk data.
type bulkFlows struct {
	bulk [256]mono.Time // when the place last saw bulk data
}

// urgent looks at frames just read and reports whether one is urgent.
func (h *bulkFlows) urgent(now mono.Time, frames []*frame.Frame) (urgent bool) {
	for _, f := range frames {
		at := &h.bulk[f.Flow%uint32(len(h.bulk))]
		switch n := len(f.Data); {
		case n >= bulkBytes:
			*at = now
		case n <= urgentBytes && (*at == 0 || now.Sub(*at) > bulkLast):
			urgent = true
		}
	}
	return urgent
}
