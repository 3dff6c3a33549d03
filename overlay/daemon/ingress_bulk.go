package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// Bounds of urgent packets.
const (
	// urgentBytes is the size of the longest packet that may be an urgent request or
	// answer.
	urgentBytes = 1000
	// bulkBytes make a frame bulk data: more than one packet on most links.
	bulkBytes = 4000
	// bulkLast is the time that a flow counts as bulk after such a frame. Bulk transfers
	// have short ends, one for each write of the application.
	bulkLast = 100 * time.Millisecond
)

// bulkFlows separates flows of short packets, such as remote procedure calls, from the short
// ends of bulk data. Flows share one of 256 places by their hash. So a request may count as
// bulk data.
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
