package tcp

import (
	"time"

	"github.com/srdtun/srdtun/sim"
)

// NIC is the network interface of a host, as its connections see it: each in
// turn hands over one segment, when the one before has left. So no queue builds
// up in the host, and a window grows only as far as the network needs, as with
// fair queueing and small queues in a kernel. Acknowledgements without data do
// not wait for a turn.
type NIC struct {
	engine  *sim.Engine
	rate    float64 // bytes per second
	waiting []*Conn
	busy    bool
	event   func()
}

// NewNIC returns an interface that sends at rate, in bytes per second with the
// framing of Ethernet, as sim.Quality has it.
func NewNIC(e *sim.Engine, rate float64) *NIC {
	n := &NIC{engine: e, rate: rate}
	n.event = n.turn
	return n
}

// want lets c have a turn.
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

// turn lets the next connection send a segment.
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
		n.engine.After(time.Duration(float64(sent+framing)/n.rate*1e9), n.event)
		c.pump()
	}
}
