// Package cc is congestion control. Congestion control limits the bytes in flight to a
// peer, over all paths together, and the sending rate. The package is pure: each call
// gets the time as an argument.
package cc

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Ack is the information of one acknowledgement record for congestion control.
type Ack struct {
	Bytes     int           // newly acknowledged bytes
	RTT       time.Duration // round trip of the newest packet, without PeerDelay; 0 if not measured
	Base      time.Duration // least round trip of the path
	Empty     time.Duration // usual round trip of the path without a queue, at least Base
	Reverse   time.Duration // part of RTT above Base: queueing delay of the acknowledgement on the return path
	Residual  time.Duration // distance of RTT from a straight line through recent round trips of the path; 0: unknown
	PeerDelay time.Duration // further delay in the peer's host, not in RTT, as the peer reports it
	CE        bool          // this packet, or one just before it on the path, carried Congestion Experienced
}

// Whose names the cause of the present queue.
type Whose uint8

const (
	// Ours: this sender controls the queue. The queue is sometimes empty, so the least
	// round trip is the base.
	Ours Whose = iota
	// Others: competitors keep the queue full. The queue may never be empty, so the least of the
	// recent round trips is not the base.
	Others
	// Nobody: the path has become longer, and no competitor causes the delay.
	Nobody
)

// Controller is one peer's congestion state. All paths share one window, so more paths never get
// more bandwidth.
type Controller interface {
	// Packet sets the size of a full packet, in bytes of UDP payload.
	Packet(bytes int)
	// Ack handles an acknowledgement. If limited is true, the window, and not the
	// application, limited sending while the packet was in flight.
	Ack(now mono.Time, a Ack, limited bool)
	// Lost reports bytes that were proven lost on a working path. Losses on a failed path
	// are not reported, because they are no sign of congestion.
	Lost(now mono.Time, bytes int)
	// Reset deletes all state from acknowledgements, because the peer has lied. The
	// packet size and the number of inner flows stay.
	Reset()
	// Queued returns the cause of the queue.
	Queued() Whose
	// Window is the limit of the bytes in flight.
	Window() int
	// Rate is the pacing rate in bytes per second; 0 before the first sample.
	Rate() float64
	// Arrived is the highest rate at which bytes arrived lately, in bytes per second; 0 before
	// the first round.
	Arrived() float64
	// Queue is the smoothed queueing delay over all paths. Target is the queueing delay to which
	// the window is controlled.
	Queue() time.Duration
	Target() time.Duration
}
