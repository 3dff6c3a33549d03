package srd

import (
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// steering holds the optional interfaces of the path policy, and the state of the
// connection for them.
type steering struct {
	scope   steer.Scope
	sender  steer.Sender // these four are nil if the policy does not implement them
	remote  steer.Remote
	placed  steer.Placed
	doubled steer.Doubled

	source    Source        // source of the train being built, if the policy needs trains of one flow
	ahead     steer.Context // context in which the policy chose the train's path
	wantsCopy bool          // a message of that train wants a copy
	copies    copies

	gauge   steer.Gauge   // measures the peer's paths to this end
	arrival steer.Arrival // time stamp and metric of the packet being handled
}

// copies is a range of messages that were sent on one path. If the policy wants second
// copies of them, they are also sent on another path (sender_copy.go).
type copies struct {
	from, to uint64
	first    uint16 // slot of the path on which they were sent
}

// SetPolicy replaces the path policy. Packets in flight stay on their paths. The new
// policy receives the classes of the paths, but no earlier measurements.
func (c *Conn) SetPolicy(p steer.Policy) {
	c.env.cfg.Policy = p
	s := &c.choice.steering
	s.scope = steer.ScopeOf(p)
	s.sender, _ = p.(steer.Sender)
	s.remote, _ = p.(steer.Remote)
	s.placed, _ = p.(steer.Placed)
	s.doubled, _ = p.(steer.Doubled)
	s.copies = copies{}
	for _, p := range c.paths.table {
		if p.state != PathFree {
			c.choice.place(p)
		}
	}
}

// place reports the class and the uplinks of p to the policy.
func (ch *choice) place(p *path) {
	if ch.steering.doubled != nil {
		ch.steering.doubled.Ends(int(p.slot), p.tuple.Local, p.tuple.Remote.Addr())
	}
	if ch.steering.placed != nil && ch.cfg.Class != nil {
		ch.steering.placed.Place(int(p.slot), ch.cfg.Class(p.tuple))
	}
}

// look prepares the policy's context for the next choice of a path, for a train of at most
// n bytes. If the policy needs a flow and no message is queued, look() returns false.
func (ch *choice) look(now mono.Time, src Source, n int) bool {
	s := &ch.steering
	s.source, s.wantsCopy, s.ahead = nil, false, steer.Context{Target: ch.cfg.Control.Target(), Bytes: n}
	if s.scope != steer.PerFlow {
		return true
	}
	s.source = src
	flow, bytes, ok := src.Peek(now)
	s.ahead.Flow, s.ahead.Bytes = flow, min(n, bytes)
	return ok
}

// same reports whether the next message may be added to the train being built.
func (s *steering) same(now mono.Time) bool {
	if s.source == nil {
		return true
	}
	flow, _, ok := s.source.Peek(now)
	return ok && flow == s.ahead.Flow
}

// room returns the number of bytes that the method trailer() needs in a packet.
func (s *steering) room(now mono.Time) (n int) {
	if s.remote != nil {
		n += wire.StampLen
	}
	if s.gauge.Wanted(now) {
		n += wire.MetricLen
	}
	return n
}

// trailer appends the time of sending and a congestion metric to a packet (CONGA, section
// 3.1: every packet carries both).
func (s *steering) trailer(now mono.Time, b []byte) []byte {
	if s.remote != nil {
		b = wire.AppendStamp(b, now.Stamp())
	}
	return s.feedback(now, b)
}

// feedback appends the congestion metric that this end measured for one of the peer's
// paths, if the peer uses metrics.
func (s *steering) feedback(now mono.Time, b []byte) []byte {
	if p, metric, ok := s.gauge.Feedback(now); ok {
		b = wire.AppendMetric(b, uint16(p), metric)
	}
	return b
}

// spread reports to the policy that new messages, from the number `first` on, were sent
// on p.
func (ch *choice) spread(now mono.Time, p *path, first uint64, bytes int) {
	s := &ch.steering
	if s.sender != nil && bytes > 0 {
		s.sender.Sent(now, int(p.slot), s.ahead.Flow, bytes)
	}
	if s.doubled != nil && s.doubled.Doubles(s.wantsCopy) {
		s.copies = copies{from: first, to: ch.recovery.out.next, first: p.slot}
	}
}

// reported passes the congestion metric that the peer measured for one of our paths to the
// policy.
func (ch *choice) reported(now mono.Time, f *wire.Frame) {
	if r := ch.steering.remote; r != nil && int(f.Slot) < len(ch.paths.table) {
		r.Reported(now, int(f.Slot), f.Metric)
	}
}

// measure passes the time stamp and the network's metric of packet p to the gauge, after
// the frames of p were handled.
func (ch *choice) measure(now mono.Time, p *Packet) {
	s := &ch.steering
	if p.Slot == candidateSlot {
		s.arrival = steer.Arrival{}
		return
	}
	s.arrival.CE = p.ECN == CE
	s.gauge.Arrived(now, int(p.Slot), s.arrival, ch.cfg.Control.Target())
	if p.Load > 0 {
		s.gauge.Write(now, int(p.Slot), p.Load-1)
	}
	s.arrival = steer.Arrival{}
}
