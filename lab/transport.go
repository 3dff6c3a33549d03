package lab

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Transport carries flows between the hosts of one Network, in virtual time. A run creates a
// transport for its network, and calls the transport's methods in this order:
//
//	Open    for every flow of the run, before time zero
//	Settled repeatedly, while time passes, until it is true: time zero
//	Start   for each flow, at its time
//	Stats   when the run is over
//
// A transport sends with Host.Send, receives at the nodes that it gave to Host.Bind, and sets
// timers with Engine.At. The transport calls Flow.Deliver for each payload byte that the receiving
// application gets.
type Transport interface {
	// Open prepares ports, connections and handshakes for the flow f. Open does not send data of f.
	Open(f *Flow) error
	// Settled reports whether all preparations of Open are complete.
	Settled() bool
	// Start allows the transport to send the flow f.
	Start(f *Flow)
	// Stats returns the counters of all flows since time zero.
	Stats() Stats
}

// Stats holds the counters of a transport.
type Stats struct {
	Packets       uint64 `json:"packets"`       // sent data packets, including retransmissions
	Retransmitted uint64 `json:"retransmitted"` // retransmitted data packets
	Spurious      uint64 `json:"spurious"`      // unnecessary retransmissions, as far as the sender knows
	Timeouts      uint64 `json:"timeouts"`      // retransmission timeouts
	Acks          uint64 `json:"acks"`          // packets that carry only acknowledgements
	// Overflow and NoBuffer count packets for which a host's sockets or interface had no space.
	Overflow uint64 `json:"overflow,omitempty"`
	NoBuffer uint64 `json:"no_buffer,omitempty"`
	// LeastPacket is the smallest UDP payload in bytes of a full packet on any path in use.
	LeastPacket int `json:"least_packet,omitempty"`
	// Datagrams holds the counters of datagrams, or nil if there are none.
	Datagrams *DatagramStats `json:"datagrams,omitempty"`
	// Split holds the counters of datagrams from the plan's time split on, or nil without one.
	Split *DatagramStats `json:"split,omitempty"`
	// Order holds the cost of restoring the order of inner flows, or nil if the transport restores
	// no order.
	Order *OrderStats `json:"order,omitempty"`
	// Inner holds the counters of connections inside tunnels, or nil if there are none.
	Inner *InnerStats `json:"inner,omitempty"`
}

// InnerStats holds the counters of TCP inside tunnels, for both ends of all connections.
// Retransmissions by the tunnel itself are not counted.
type InnerStats struct {
	Retransmitted uint64 `json:"retransmitted"` // segments
	Timeouts      uint64 `json:"timeouts"`
	// Queue counts packets that the queues in front of tunnels dropped, either to signal congestion
	// or because they were full.
	Queue uint64 `json:"queue"`
	// Dropped counts packets that links between servers and tunnel ends dropped.
	Dropped uint64 `json:"dropped"`
}

// Add adds the counters of another run.
func (s *InnerStats) Add(o *InnerStats) {
	s.Retransmitted += o.Retransmitted
	s.Timeouts += o.Timeouts
	s.Queue += o.Queue
	s.Dropped += o.Dropped
}

// OrderStats holds the counters of all reordering buffers of a transport.
type OrderStats struct {
	Delivered uint64 `json:"delivered"` // inner packets
	Held      uint64 `json:"held"`      // packets that waited for at least one earlier packet
	TimedOut  uint64 `json:"timed_out"` // gaps for which the buffer stopped waiting
	// MostHeld and MostBytes are the largest numbers of packets and bytes that a single buffer held
	// at any time.
	MostHeld  int `json:"most_held"`
	MostBytes int `json:"most_bytes"`
	// Longest is the longest time that a packet waited in a buffer, in microseconds.
	Longest float64 `json:"longest_us"`
}

// Add adds the counters of one or more other buffers.
func (s *OrderStats) Add(o *OrderStats) {
	s.Delivered += o.Delivered
	s.Held += o.Held
	s.TimedOut += o.TimedOut
	s.MostHeld = max(s.MostHeld, o.MostHeld)
	s.MostBytes = max(s.MostBytes, o.MostBytes)
	s.Longest = max(s.Longest, o.Longest)
}

// Flow describes bytes to send from one host to another, and the outcome. A transport reads the
// first block of fields and calls Deliver.
type Flow struct {
	ID       int
	Src, Dst int           // numbers of hosts
	Size     int64         // bytes of payload; 0: endless
	At       time.Duration // when it starts, after time zero
	Group    string        // name of the group of flows that are counted together
	// Transport is the name of the transport that carries the flow. An empty name selects the
	// plan's transport.
	Transport string

	// State is private data of the transport.
	State any

	begun     mono.Time
	delivered int64
	ended     mono.Time // 0: not yet
	watch     watcher
}

// watcher is notified of delivered bytes.
type watcher interface{ arrived(f *Flow, n int) }

// Left returns the number of bytes that have not been delivered. For an endless flow, Left never
// returns zero.
func (f *Flow) Left() int64 {
	if f.Size == 0 {
		return 1 << 62
	}
	return f.Size - f.delivered
}

// Done reports whether every byte was delivered.
func (f *Flow) Done() bool { return f.ended != 0 }

// Deliver counts n more bytes of f that the receiving application has received. Each byte counts
// once, and the bytes of a stream count in order. The flow's completion time ends when the last
// byte is delivered.
func (f *Flow) Deliver(n int) {
	f.delivered += int64(n)
	f.watch.arrived(f, n)
}
