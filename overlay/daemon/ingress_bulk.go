package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants distinguish urgent packets from bulk data.
const (
	// urgentBytes is the largest size, in bytes, of a packet that may be an urgent request or
	// response.
	urgentBytes = 1000
	// bulkBytes is the smallest size of a frame, in bytes, that makes its flow count as bulk data.
	// On most links such a frame is more than one packet.
	bulkBytes = 4000
	// bulkLast is the time for which a flow counts as bulk data after a frame of at least
	// bulkBytes. A bulk transfer also has short frames, one at the end of each write(2) of the
	// application.
	bulkLast = 100 * time.Millisecond
)

// bulkFlows distinguishes flows of short packets, such as remote procedure calls, from the short
// last frames of bulk data. A hash assigns each flow to one of 256 entries. Two flows may share
// an entry, so a request may be mistaken for bulk data.
type bulkFlows struct {
	latest [256]mono.Time // time of the latest bulk data of each entry
}

// urgent reports whether one of the frames is urgent. A TCP acknowledgement without data is not
// urgent, because no program waits for it.
func (b *bulkFlows) urgent(now mono.Time, frames []*frame.Frame) (urgent bool) {
	for _, f := range frames {
		at := &b.latest[f.Flow%uint32(len(b.latest))]
		switch n := len(f.Data); {
		case n >= bulkBytes:
			*at = now
		case n <= urgentBytes && (*at == 0 || now.Sub(*at) > bulkLast) && !packet.IsPureAck(f.Data):
			urgent = true
		}
	}
	return urgent
}
