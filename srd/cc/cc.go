// Package cc is congestion control: how many bytes a peer may have in flight
// over all of its paths together, and how fast they may leave. It is pure: time
// comes in with every call.
package cc

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Ack is what one acknowledgement of one packet says.
type Ack struct {
	Bytes int           // bytes newly known to have arrived
	RTT   time.Duration // the packet's round trip; 0 when not measured
	Base  time.Duration // the path's base round trip
	Empty time.Duration // what a packet takes there as a rule without a queue, which may be more
	Back  time.Duration // what of the rest the acknowledgement waited on its way
	Stray time.Duration // how far RTT lies from what the path's others lead to; 0: unknown
	Held  time.Duration // beside RTT: how much longer than it may the peer's host kept it, as it says
	CE    bool          // it, or one just before it on the path, carried Congestion Experienced
}

// Whose is who makes the queue that there is.
type Whose uint8

const (
	// Ours is steered, and empty now and then: the least round trip is the base.
	Ours Whose = iota
	// Others hold it up. It may never be empty, so the least round trip of late is no base.
	Others
	// Nobody does. What was taken for a queue of others is a longer way.
	Nobody
)

// Controller is one peer's congestion state. Paths are coupled: there is one
// window however many there are, so that paths never buy bandwidth.
type Controller interface {
	// Packet tells how many bytes of UDP payload a full packet has from now on.
	Packet(bytes int)
	// Ack takes an acknowledgement. limited says whether the window, not the
	// application, held sending back when it was in flight.
	Ack(now mono.Time, a Ack, limited bool)
	// Lost takes bytes proven lost on a path that works. Losses on a path that is being given up are
	// not congestion and are not told.
	Lost(now mono.Time, bytes int)
	// Reset forgets all that acknowledgements told: the peer has lied. What is known of
	// the host's own line and of packets stays.
	Reset()
	// Queued tells whose the queue is.
	Queued() Whose
	// Window is the most bytes that may be in flight.
	Window() int
	// Rate is the pacing rate in bytes per second; 0 before the first sample, unless
	// the line is known.
	Rate() float64
	// Queue is the smoothed queueing delay over all paths, and Target what it
	// is steered to.
	Queue() time.Duration
	Target() time.Duration
}
