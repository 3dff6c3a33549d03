package lab

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Transport carries flows between the hosts of one Network, in virtual time. A
// run makes one with the network that it is for, and drives it in this order:
//
//	Open    for every flow of the run, before time zero
//	Settled again and again, while time passes, until it is true: time zero
//	Start   for each flow, at its time
//	Stats   when the run is over
//
// What a transport sends it hands to Host.Send, what it is sent comes to the
// nodes it gave to Host.Bind, and it is woken by Engine.At. For each payload
// byte that the receiving application gets it calls Flow.Deliver.
type Transport interface {
	// Open prepares for f: ports, connections, handshakes. Nothing of f is sent.
	Open(f *Flow) error
	// Settled reports whether what Open began is done.
	Settled() bool
	// Start lets f be sent from now on.
	Start(f *Flow)
	// Stats returns what all flows together have counted since time zero.
	Stats() Stats
}

// Stats are a transport's counters.
type Stats struct {
	Packets       uint64 `json:"packets"`       // data packets sent, repetitions included
	Retransmitted uint64 `json:"retransmitted"` // of those, sent again
	Spurious      uint64 `json:"spurious"`      // of those, not needed, as far as the sender knows
	Timeouts      uint64 `json:"timeouts"`      // retransmission timeouts
	Acks          uint64 `json:"acks"`          // packets that carry only acknowledgements
	// Overflow and NoBuffer are packets that sockets and interfaces of hosts had no room for.
	Overflow uint64 `json:"overflow,omitempty"`
	NoBuffer uint64 `json:"no_buffer,omitempty"`
	// Order is what restoring the order of inner flows took; nil: the transport
	// restores none.
	Order *OrderStats `json:"order,omitempty"`
	// Inner is what the connections inside of tunnels met; nil: there are none.
	Inner *InnerStats `json:"inner,omitempty"`
}

// InnerStats are the counters of TCP inside of tunnels, both ends of all connections.
// What a tunnel repairs is not in them.
type InnerStats struct {
	Retransmitted uint64 `json:"retransmitted"` // segments
	Timeouts      uint64 `json:"timeouts"`
	// Queue are packets that the queues in front of tunnels dropped, to tell of congestion
	// or because they were full.
	Queue uint64 `json:"queue"`
	// Dropped are packets that links between servers and the ends of tunnels dropped.
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
	Held      uint64 `json:"held"`      // of those, held for at least one before it
	TimedOut  uint64 `json:"timed_out"` // gaps not waited for any longer
	// MostHeld and MostBytes are the most packets, and bytes, that any one buffer held
	// at a time.
	MostHeld  int `json:"most_held"`
	MostBytes int `json:"most_bytes"`
	// Longest is the longest time a packet was held, in microseconds.
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

// Flow is a number of bytes that one host sends to another, and what became of
// them. A transport reads the first block and calls Deliver.
type Flow struct {
	ID       int
	Src, Dst int           // numbers of hosts
	Size     int64         // bytes of payload; 0: endless
	At       time.Duration // when it starts, after time zero
	Group    string        // name of flows that are counted together
	// Transport is the name of the transport that carries it, "" for the plan's.
	Transport string

	// State is the transport's own.
	State any

	begun     mono.Time
	delivered int64
	ended     mono.Time // 0: not yet
	watch     watcher
}

// watcher is told of what arrives.
type watcher interface{ arrived(f *Flow, n int) }

// Left returns the bytes that have not been delivered; an endless flow always
// has some left.
func (f *Flow) Left() int64 {
	if f.Size == 0 {
		return 1 << 62
	}
	return f.Size - f.delivered
}

// Done reports whether every byte was delivered.
func (f *Flow) Done() bool { return f.ended != 0 }

// Deliver tells that the receiving application has got n bytes more of f: each
// byte is told once, and for a stream in order. The flow's completion time ends
// with the last of them.
func (f *Flow) Deliver(n int) {
	f.delivered += int64(n)
	f.watch.arrived(f, n)
}
