package tcp

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// NIC is the network interface of a host, which schedules the host's connections. The connections
// take turns, and each sends one segment after the previous segment has left. If connections take
// turns, no queue builds up in the host, as with fair queueing and small queues in a kernel.
// Without a queue in the host, a connection's window grows only as far as the network needs.
// Acknowledgements without data do not wait for a turn.
type NIC struct {
	engine  *net.Engine
	rate    float64 // bytes per second
	waiting []*Conn
	busy    bool
	event   func()
	rng     *rand.Rand
}

// The pause after a segment is at most 1/nicPause of the segment's transmission time. Real
// interfaces do not send without gaps. An interface without gaps could keep the queue of an equally
// fast port exactly full. All packets of that interface would then find space in the queue, and
// packets of other hosts would not.
const nicPause = 100

// NewNIC returns an interface that sends `rate` bytes per second, including Ethernet's framing,
// as in net.Quality.
func NewNIC(e *net.Engine, rate float64) *NIC {
	n := &NIC{engine: e, rate: rate, rng: e.Fork()}
	n.event = n.turn
	return n
}

// want adds connection c to the queue of connections with data to send.
func (n *NIC) want(c *Conn) {
	if c.queued {
		return
	}
	c.queued = true
	n.waiting = append(n.waiting, c)
	if !n.busy {
		n.turn()
	}
}

// turn lets the next connection in the queue send one segment.
func (n *NIC) turn() {
	n.busy = false
	for len(n.waiting) > 0 && !n.busy {
		c := n.waiting[0]
		n.waiting = n.waiting[:copy(n.waiting, n.waiting[1:])]
		c.queued = false
		sent := c.sendOne()
		if sent == 0 {
			continue
		}
		n.busy = true
		took := time.Duration(float64(sent+framing) / n.rate * 1e9)
		n.engine.After(took+time.Duration(n.rng.Int64N(int64(took/nicPause)+1)), n.event)
		c.pump()
	}
}
