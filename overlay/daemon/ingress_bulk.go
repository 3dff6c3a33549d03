package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants distinguish urgent packets from bulk data.
const (
	// urgentBytes is the largest size of a packet that may be an urgent request or response.
	urgentBytes = 1000
	// bulkBytes is the frame size from which a flow counts as bulk: more than one packet on
	// most links.
	bulkBytes = 4000
	// bulkLast is the time for which a flow counts as bulk data after a frame of bulkBytes. A bulk
	// transfer also has short frames, one at the end of each write(2) of the application.
	bulkLast = 100 * time.Millisecond
)

// bulkFlows distinguishes flows of short packets, such as remote procedure calls, from the short
// last frames of bulk data. A hash assigns each flow to one of 256 entries. Two flows may share
// an entry, so a request may be mistaken for bulk data.
type bulkFlows struct {
	bulk [256]mono.Time // time of the latest bulk data in each place
}

// urgent reports whether one of the frames is urgent. No program waits for an acknowledgement
// without data.
func (h *bulkFlows) urgent(now mono.Time, frames []*frame.Frame) (urgent bool) {
	for _, f := range frames {
		at := &h.bulk[f.Flow%uint32(len(h.bulk))]
		switch n := len(f.Data); {
		case n >= bulkBytes:
			*at = now
		case n <= urgentBytes && (*at == 0 || now.Sub(*at) > bulkLast) && !packet.IsPureAck(f.Data):
			urgent = true
		}
	}
	return urgent
}
