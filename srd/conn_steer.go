package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Peeker is a Source that tells what it will give next. Policies that keep flows
// together need one; without it all that is sent to a peer is one flow to them.
type Peeker interface {
	// Peek returns the flow of the message that Pull would return, and how many
	// bytes of that flow are certain to follow each other, at least 1. ok is false
	// when there is none.
	Peek(now mono.Time) (flow uint32, bytes int, ok bool)
}

// steering is what lies between a connection and its path policy.
type steering struct {
	scope   steer.Scope
	sender  steer.Sender // these four are nil where the policy is none
	remote  steer.Remote
	placed  steer.Placed
	doubled steer.Doubled

	peeker Peeker        // of the train being built; nil: it is not kept to one flow
	ahead  steer.Context // what the train's path was chosen for
	copies copies

	gauge   steer.Gauge   // of the peer's paths to us
	arrival steer.Arrival // of the packet being handled
}

// copies are messages that have been sent on one path and go on a second one too.
type copies struct {
	from, to uint64
	first    uint16 // slot of the path they went on
}

// SetPolicy replaces the path policy. What is in flight stays where it is; the
// new policy knows nothing of the paths but their classes.
func (c *Conn) SetPolicy(p steer.Policy) {
	c.cfg.Policy = p
	s := &c.steering
	s.scope = steer.ScopeOf(p)
	s.sender, _ = p.(steer.Sender)
	s.remote, _ = p.(steer.Remote)
	s.placed, _ = p.(steer.Placed)
	s.doubled, _ = p.(steer.Doubled)
	s.copies = copies{}
	for _, p := range c.paths {
		if p.state != PathFree {
			c.place(p)
		}
	}
}

// place tells the policy p's class.
func (c *Conn) place(p *path) {
	if c.steering.placed != nil && c.cfg.Class != nil {
		c.steering.placed.Place(int(p.slot), c.cfg.Class(p.tuple))
	}
}

// look finds out what the next train is for, of at most n bytes. It returns false
// when there is nothing to send.
func (c *Conn) look(now mono.Time, src Source, n int) bool {
	s := &c.steering
	s.peeker, s.ahead = nil, steer.Context{Target: c.cfg.Control.Target(), Bytes: n}
	if s.scope != steer.PerFlow {
		return true
	}
	var ok bool
	if s.peeker, ok = src.(Peeker); !ok {
		return true
	}
	flow, bytes, ok := s.peeker.Peek(now)
	s.ahead.Flow, s.ahead.Bytes = flow, min(n, bytes)
	return ok
}

// same reports whether the next message belongs into the train being built.
func (s *steering) same(now mono.Time) bool {
	if s.peeker == nil {
		return true
	}
	flow, _, ok := s.peeker.Peek(now)
	return ok && flow == s.ahead.Flow
}

// room returns how many bytes of a packet trailer needs.
func (s *steering) room(now mono.Time) (n int) {
	if s.remote != nil {
		n += wire.StampLen
	}
	if s.gauge.Wanted(now) {
		n += wire.MetricLen
	}
	return n
}

// trailer appends to a packet what the two ends tell each other of its path and
// others (CONGA, section 3.1: every packet carries both).
func (s *steering) trailer(now mono.Time, b []byte) []byte {
	if s.remote != nil {
		b = wire.AppendStamp(b, steer.Stamp(now))
	}
	return s.feedback(now, b)
}

// feedback appends how congested one of the peer's paths is, if it wants to know.
func (s *steering) feedback(now mono.Time, b []byte) []byte {
	if p, metric, ok := s.gauge.Feedback(now); ok {
		b = wire.AppendMetric(b, uint16(p), metric)
	}
	return b
}

// spread tells the policy of a train of new messages, those from first on, that
// goes out on p.
func (c *Conn) spread(now mono.Time, p *path, first uint64, bytes int) {
	s := &c.steering
	if s.sender != nil && bytes > 0 {
		s.sender.Sent(now, int(p.slot), s.ahead.Flow, bytes)
	}
	if s.doubled != nil {
		s.copies = copies{from: first, to: c.out.next, first: p.slot}
	}
}

// told takes the peer's metric of one of our paths.
func (c *Conn) told(now mono.Time, f *wire.Frame) {
	if r := c.steering.remote; r != nil && int(f.Slot) < len(c.paths) {
		r.Told(now, int(f.Slot), f.Metric)
	}
}

// measure counts a packet that came, whose frames have been read.
func (c *Conn) measure(now mono.Time, p *Packet) {
	s := &c.steering
	if p.Slot == candidateSlot {
		s.arrival = steer.Arrival{}
		return
	}
	s.arrival.CE = p.CE
	s.gauge.Arrived(now, int(p.Slot), s.arrival, c.cfg.Control.Target())
	if p.Load > 0 {
		s.gauge.Write(now, int(p.Slot), p.Load-1)
	}
	s.arrival = steer.Arrival{}
}

// doubling reports whether the last train is to be sent once more.
func (s *steering) doubling() bool { return s.copies.from != s.copies.to }

// nextCopy sends what the last train carried on a second path.
func (c *Conn) nextCopy(now mono.Time, t *Train) bool {
	s := &c.steering
	what := s.copies
	s.copies = copies{}
	if what.from == what.to {
		return false
	}
	set := &c.choice
	*set = steer.Set{}
	for _, p := range c.paths {
		if c.usable.Has(int(p.slot)) && p.carries(c.packet) && !p.sent.Full() && !p.late(now, &c.slack) {
			set.Add(int(p.slot))
		}
	}
	if !set.Has(int(what.first)) || c.silent() {
		return false // the first path has just gone: repair takes care of all
	}
	second, ok := s.doubled.Second(now, set, s.ahead, int(what.first))
	if !ok {
		return false
	}
	p := c.paths[second]
	t.reset(p.tuple, c.session.send.keys)
	for n := what.from; n < what.to && len(t.Buf)+c.packet <= cap(t.Buf) && t.Packets() < MaxTrain; {
		n = c.copyPacket(now, t, p, n, what.to)
	}
	c.spend(len(t.Buf))
	return len(t.Buf) > 0
}

// copyPacket appends a packet for p with messages from n on, below to, and
// returns the first that is not in it. What has been acknowledged or given up
// meanwhile needs no copy. A message still belongs to the packet that carried it
// first: when that is lost, and the copy has not arrived, it is repaired.
func (c *Conn) copyPacket(now mono.Time, t *Train, p *path, n, to uint64) uint64 {
	for n < to && (!c.out.open(n) || c.out.at(n).void) {
		n++
	}
	from, first := len(t.Buf), n
	b := t.open(p.slot, p.sent.Next())
	for n < to && c.out.open(n) && !c.out.at(n).void {
		m := c.out.at(n)
		if len(b)-from+wire.MessageOverhead+len(m.m.Data)+wire.TagLen > c.packet {
			break
		}
		b = wire.AppendMessage(b, uint32(n), &m.m.Imm, m.m.Data)
		m.tried |= 1 << (p.slot % 64)
		n++
	}
	if n == first {
		return n + 1 // nothing fits: packets have become smaller
	}
	pad := 0
	if n < to {
		pad = c.packet
	}
	t.close(b, from, pad)
	k := uint16(n - first)
	c.record(now, p, ledger.Packet{At: now, First: first, N: k, Left: k, Size: uint16(len(t.Buf) - from), State: ledger.InFlight})
	return n
}
