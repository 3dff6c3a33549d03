package srd

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/steer"
)

// Tests and simulations in other packages can use only the exported methods of a
// connection. The hooks in package inspect allow them to check its internal state.
func init() {
	inspect.Sound = func(c any) error { return sound(c.(*Conn)) }
	inspect.Within = func(c any) error { return within(c.(*Conn)) }
	inspect.TailProbes = func(c any) int { return c.(*Conn).recovery.timer.probes }
}

// sound implements inspect.Sound.
func sound(c *Conn) error {
	sum := 0
	for _, p := range c.paths.table {
		n, err := soundPath(c, p)
		if err != nil {
			return fmt.Errorf("path %d, %v: %w", p.slot, p.state, err)
		}
		sum += n
	}
	if sum != c.recovery.inflight {
		return fmt.Errorf("paths have %d bytes in flight, the connection %d", sum, c.recovery.inflight)
	}
	if err := soundOutbox(c); err != nil {
		return err
	}
	if err := soundTimers(c); err != nil {
		return err
	}
	return within(c)
}

// within implements inspect.Within.
func within(c *Conn) error {
	s := &c.session
	switch {
	case len(c.paths.table) > steer.MaxPaths:
		return fmt.Errorf("%d paths", len(c.paths.table))
	case len(c.paths.replies) > maxReplies:
		return fmt.Errorf("%d responses owed", len(c.paths.replies))
	case c.paths.candidates.Within() != nil:
		return c.paths.candidates.Within()
	case len(c.paths.former.addrs) > provenMost:
		return fmt.Errorf("%d former addresses", len(c.paths.former.addrs))
	case len(c.receiver.pending) > steer.MaxPaths:
		return fmt.Errorf("%d paths to acknowledge", len(c.receiver.pending))
	case len(s.out) > mostRaw:
		return fmt.Errorf("%d handshake packets wait", len(s.out))
	case len(s.last.on) > 1+echoes:
		return fmt.Errorf("the response went to %d places", len(s.last.on))
	case c.recovery.out.next-c.recovery.out.first > OutboxLimit || len(c.recovery.out.ring) > OutboxLimit:
		return fmt.Errorf("%d messages of %d wait for an acknowledgement", c.recovery.out.next-c.recovery.out.first, len(c.recovery.out.ring))
	case c.recovery.out.retx.len() > OutboxLimit || len(c.recovery.out.retx.ring) > OutboxLimit:
		return fmt.Errorf("%d messages of %d wait to be sent again", c.recovery.out.retx.len(), len(c.recovery.out.retx.ring))
	case c.recovery.timer.probes < 0 || c.recovery.timer.probes > probesMost:
		return fmt.Errorf("%d copies of the oldest message are to be sent", c.recovery.timer.probes)
	case c.recovery.inflight < 0 || (c.recovery.inflight > 0) == c.recovery.busy.Empty():
		return fmt.Errorf("%d bytes in flight, no path busy: %v", c.recovery.inflight, c.recovery.busy.Empty())
	}
	return nil
}

// debtMost is the largest token debt of the pacer without second copies, in bytes: the
// retransmissions of a burst, and two packets. With second copies the debt may be a whole
// train more.
const debtMost = burstBytes + 2*MaxPacket

// soundTimers checks that a due acknowledgement sets a deadline, and that the pacer's token
// debt is within its bound. It also checks that the oldest message is old enough for the
// number of tail probes.
func soundTimers(c *Conn) error {
	if err := soundAck(c); err != nil {
		return err
	}
	debt := debtMost
	if d := c.choice.steering.doubled; d != nil && d.Doubles(false) {
		debt += MaxTrainBytes
	}
	if n := -c.sender.bucket.Tokens(); n > debt {
		return fmt.Errorf("the pacer is %d bytes in debt", n)
	}
	if c.recovery.out.empty() || c.recovery.timer.backoff == 0 {
		return nil
	}
	if age := c.env.clock.Sub(c.recovery.out.at(c.recovery.out.first).first); age < time.Duration(c.recovery.timer.backoff)*ptoDeviations*c.env.hosts.granule {
		return fmt.Errorf("%d tail probes of a message that is %v old", c.recovery.timer.backoff, age)
	}
	return nil
}

// soundAck checks that a pending acknowledgement sets a deadline that is early enough.
// Without the acknowledgement the peer would send its last packets again.
func soundAck(c *Conn) error {
	if c.receiver.ack.packets == 0 || !c.session.ready(c.env.clock) || c.sender.ackPath() == nil {
		return nil
	}
	if at, why := c.Deadline(); at > c.receiver.ack.since.Add(c.receiver.ack.latest) {
		return fmt.Errorf("packets wait for an acknowledgement, and it wakes %v after the first: %s", at.Sub(c.receiver.ack.since), why)
	}
	return nil
}

// soundPath checks one path and returns its bytes in flight.
func soundPath(c *Conn, p *path) (sum int, err error) {
	var oldest *ledger.Packet
	for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
		k := p.sent.At(pn)
		switch k.State {
		case ledger.InFlight:
			if pn+uint64(p.reorder) < p.largest && !k.Delivered() {
				return 0, fmt.Errorf("packet %d is waited for, although one of %d has arrived", pn, p.largest-1)
			}
			sum += int(k.Size)
		default:
			continue
		}
		if oldest == nil && !k.Delivered() {
			oldest = k
		}
	}
	switch slot := int(p.slot); {
	case sum != p.inflight:
		err = fmt.Errorf("%d bytes in flight, booked %d", sum, p.inflight)
	case p.oldest() != oldest:
		err = fmt.Errorf("another packet is the oldest in flight")
	case c.recovery.busy.Has(slot) != (sum > 0):
		err = fmt.Errorf("busy is %v with %d bytes in flight", c.recovery.busy.Has(slot), sum)
	case c.paths.usable.Has(slot) != (p.state == PathActive):
		err = fmt.Errorf("usable is %v", c.paths.usable.Has(slot))
	case p.state == PathFree && (sum > 0 || c.paths.probing.Has(slot)):
		err = fmt.Errorf("free, with %d bytes in flight, probed %v", sum, c.paths.probing.Has(slot))
	case p.state == PathActive && p.mtu < BasePacket:
		err = fmt.Errorf("its packets have %d bytes", p.mtu)
	case p.sent.Next()-p.sent.First() > ledger.Limit:
		err = fmt.Errorf("%d packet numbers are open", p.sent.Next()-p.sent.First())
	}
	return sum, err
}

// soundOutbox checks that each unacknowledged message is in flight or in the retransmission
// queue.
func soundOutbox(c *Conn) error {
	o := &c.recovery.out
	if n := o.next - o.first; o.next < o.first || n > OutboxLimit {
		return fmt.Errorf("messages %d to %d wait for an acknowledgement", o.first, o.next)
	}
	waits := make(map[uint64]bool, o.retx.len())
	for i, q := o.retx.head, &o.retx; i != q.tail; i++ {
		waits[q.ring[i&uint64(len(q.ring)-1)]] = true
	}
	for n := o.first; n < o.next; n++ {
		m := o.at(n)
		k := c.paths.table[m.slot].sent.At(m.pn)
		switch {
		case m.acked:
			if m.m.Owner != nil {
				return fmt.Errorf("message %d is acknowledged, and its payload is not released", n)
			}
		case m.void && m.m.Owner != nil:
			return fmt.Errorf("message %d is given up, and its payload is not released", n)
		case m.wants && !waits[n]:
			return fmt.Errorf("message %d wants to be sent again, and is not in the queue", n)
		case !m.wants && (k == nil || k.State != ledger.InFlight):
			return fmt.Errorf("message %d is neither in flight nor to be sent again", n)
		}
	}
	return nil
}
