package lab

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Transport carries flows between the hosts of one Network, in virtual time. A run creates a
// transport for its network, and drives it in this order:
//
//	Open    for every flow of the run, before time zero
//	Settled again and again, while time passes, until it is true: time zero
//	Start   for each flow, at its time
//	Stats   when the run is over
//
// A transport sends by Host.Send, receives at the nodes it gave to Host.Bind, and sets
// timers by Engine.At. It calls Flow.Deliver for each payload byte that the receiving
// application gets.
type Transport interface {
	// Open prepares for the flow f: ports, connections, handshakes. It does not send data of
	// f.
	Open(f *Flow) error
	// Settled reports whether all preparations of Open are done.
	Settled() bool
	// Start allows f to be sent from now on.
	Start(f *Flow)
	// Stats returns the counters of all flows together since time zero.
	Stats() Stats
}

// Stats are a transport's counters.
type Stats struct {
	Packets       uint64 `json:"packets"`       // data packets sent, repetitions included
	Retransmitted uint64 `json:"retransmitted"` // of those, sent again
	Spurious      uint64 `json:"spurious"`      // of those, not needed, as far as the sender knows
	Timeouts      uint64 `json:"timeouts"`      // retransmission timeouts
	Acks          uint64 `json:"acks"`          // packets that carry only acknowledgements
	// Overflow and NoBuffer count packets for which sockets and interfaces of hosts had no
	// space.
	Overflow uint64 `json:"overflow,omitempty"`
	NoBuffer uint64 `json:"no_buffer,omitempty"`
	// LeastPacket is the smallest UDP payload of a full packet among the paths in use.
	LeastPacket int `json:"least_packet,omitempty"`
	// Datagrams counts what happened to datagrams; nil means that there are none.
	Datagrams *DatagramStats `json:"datagrams,omitempty"`
	// Order describes the cost of restoring the order of inner flows; nil means that the
	// transport restores no order.
	Order *OrderStats `json:"order,omitempty"`
	// Inner holds the counters of connections inside tunnels; nil means that there are none.
	Inner *InnerStats `json:"inner,omitempty"`
}

// InnerStats holds the counters of TCP inside tunnels, for both ends of all connections.
// Repairs by a tunnel are not counted.
type InnerStats struct {
	Retransmitted uint64 `json:"retransmitted"` // segments
	Timeouts      uint64 `json:"timeouts"`
	// Queue counts packets that the queues in front of tunnels dropped, to signal congestion
	// or because they were full.
	Queue uint64 `json:"queue"`
	// Dropped counts packets that links between servers and the ends of tunnels dropped.
	Dropped uint64 `json:"dropped"`
}

// Add takes the counters of another run.
func (s *InnerStats) Add(o *InnerStats) {
	s.Retransmitted += o.Retransmitted
	s.Timeouts += o.Timeouts
	s.Queue += o.Queue
	s.Dropped += o.Dropped
}

// OrderStats are the counters of all reordering buffers of a transport.
type OrderStats struct {
	Delivered uint64 `json:"delivered"` // inner packets
	Held      uint64 `json:"held"`      // of those, held for at least one earlier packet
	TimedOut  uint64 `json:"timed_out"` // gaps not waited for any longer
	// MostHeld and MostBytes are the largest numbers of packets and bytes that a single
	// buffer held at a time.
	MostHeld  int `json:"most_held"`
	MostBytes int `json:"most_bytes"`
	// Longest is the longest time that a packet waited in a buffer, in microseconds.
	Longest float64 `json:"longest_us"`
}

// Add takes the counters of another buffer, or of several.
func (s *OrderStats) Add(o *OrderStats) {
	s.Delivered += o.Delivered
	s.Held += o.Held
	s.TimedOut += o.TimedOut
	s.MostHeld = max(s.MostHeld, o.MostHeld)
	s.MostBytes = max(s.MostBytes, o.MostBytes)
	s.Longest = max(s.Longest, o.Longest)
}

// Flow is a number of bytes to be sent from one host to another, with the outcome. A
// transport reads the first block of fields and calls Deliver.
type Flow struct {
	ID       int
	Src, Dst int           // numbers of hosts
	Size     int64         // bytes of payload; 0: endless
	At       time.Duration // when it starts, after time zero
	Group    string        // name of flows that are counted together
	// Transport is the name of the transport that carries it, "" for the plan's.
	Transport string

	// State belongs to the transport.
	State any

	begun     mono.Time
	delivered int64
	ended     mono.Time // 0: not yet
	watch     watcher
}

// watcher is called for delivered bytes.
type watcher interface{ arrived(f *Flow, n int) }

// Left returns the bytes that have not been delivered. An endless flow always has some left.
func (f *Flow) Left() int64 {
	if f.Size == 0 {
		return 1 << 62
	}
	return f.Size - f.delivered
}

// Done reports whether every byte was delivered.
func (f *Flow) Done() bool { return f.ended != 0 }

// Deliver reports that the receiving application has got n more bytes of f. Each byte counts
// once, and in a stream the bytes count in order. The flow's completion time ends with the
// last of them.
func (f *Flow) Deliver(n int) {
	f.delivered += int64(n)
	f.watch.arrived(f, n)
}
