package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants tell urgent packets from bulk data.
const (
	// urgentBytes is the size of the longest packet that may be an urgent request or
	// answer.
	urgentBytes = 1000
	// bulkBytes is the frame size from which a flow counts as bulk: more than one packet on
	// most links.
	bulkBytes = 4000
	// bulkLast is how long a flow counts as bulk after such a frame. A bulk transfer also
	// has short frames, one at the end of each write of the application.
	bulkLast = 100 * time.Millisecond
)

// bulkFlows separates flows of short packets, such as remote procedure calls, from the short
// ends of bulk data. Flows share one of 256 entries by their hash. So a request may be taken
// for bulk data.
type bulkFlows struct {
	bulk [256]mono.Time // time of the latest bulk data in each place
}

// urgent reports whether one of the frames just read is urgent.
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
