package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Inbound flow:
//
//	1. driver: datagram -> receiver index -> RecvKeys (no lock of ours)
//	2. Fresh: a packet number already seen is dropped before the AEAD is paid for
//	3. RecvKeys.Open, outside of the lock
//	4. Handle: check and set of the packet number, then the frames
//	5. Recv: messages that are new
//
// Nothing in a packet is looked at before step 3 has proven who wrote it.

// Fresh reports whether a packet with these numbers could be new. It is a cheap
// look before opening; Handle decides.
func (c *Conn) Fresh(slot uint16, pn uint64) bool {
	if slot > candidateSlot {
		c.drop(DropSlot)
		return false
	}
	if in := c.in[slot]; in != nil && !in.seen.Fresh(pn) && !c.session.stranger() {
		c.drop(DropReplay)
		return false
	}
	return true
}

// Handle takes one opened packet. Messages in it alias p.Plain: drain Recv
// before that buffer is used again.
func (c *Conn) Handle(now mono.Time, p *Packet) {
	if p.Slot > candidateSlot {
		c.drop(DropSlot)
		return
	}
	if !c.session.accepts(now, p.Keys) {
		c.drop(DropSessionOld)
		return
	}
	c.confirm(now, p) // may clear all that was seen
	in := c.in[p.Slot]
	if in == nil {
		in = &inPath{slot: p.Slot, told: [2]uint64{p.PN, p.PN}}
		c.in[p.Slot] = in
	}
	next := in.seen.Next()
	if !in.seen.Set(p.PN) {
		c.drop(DropReplay)
		return
	}
	c.stats.RxBytes += uint64(p.Size)
	c.lastHeard = now
	c.used(now, p.Keys)
	urgent := c.arrive(now, in, p, next)
	if eliciting := c.frames(now, in, p, &urgent); eliciting {
		if !in.queued {
			in.queued = true
			c.dirty = append(c.dirty, in)
		}
		c.ack.arrived(now, p.Size, urgent, c.rtt.Smoothed(), &c.slack)
	}
	c.measure(now, p)
}

// arrive notes p's arrival on its path and reports whether that is worth an
// acknowledgement at once: a gap, or congestion.
func (c *Conn) arrive(now mono.Time, in *inPath, p *Packet, next uint64) (urgent bool) {
	if p.PN >= next {
		in.at = now
	}
	if p.CE {
		in.ce++
		urgent = true
	}
	if in.tuple != p.Tuple || in.path == nil || in.path.tuple != p.Tuple {
		c.locate(in, p)
	}
	own := in.path
	if own == nil {
		c.heardOn(now, in, p)
		return urgent || (next > 0 && p.PN > next)
	}
	c.lastPath, own.seen = own, now
	if own.state == PathCandidate {
		own.probe.next = own.probe.next.Min(max(now, own.probe.again()))
	}
	return urgent || (next > 0 && p.PN > next)
}

// locate finds our path where p came.
func (c *Conn) locate(in *inPath, p *Packet) {
	if in.tuple == p.Tuple && in.path == nil && in.looked == c.opened {
		return
	}
	if in.path != nil && in.slot != candidateSlot {
		in.was = in.path.slot + 1
	}
	in.tuple, in.path, in.looked = p.Tuple, c.find(p.Tuple), c.opened
	if in.path != nil {
		in.was = 0
	}
}

// frames handles all frames of p and reports whether any asks for an
// acknowledgement.
func (c *Conn) frames(now mono.Time, in *inPath, p *Packet, urgent *bool) (eliciting bool) {
	var f wire.Frame
	var asked, told bool // a challenge, and a response, of which a packet has one at most
	for rest := p.Plain; len(rest) > 0; {
		var ok bool
		if rest, ok = wire.Next(rest, &f); !ok {
			c.drop(DropMalformed)
			return eliciting
		}
		if in.slot == candidateSlot && f.Kind.Elicits() {
			c.drop(DropMalformed) // nobody may ask for an acknowledgement there
			return false
		}
		switch f.Kind {
		case wire.KindMessage, wire.KindTombstone:
			eliciting = true
			if c.message(&f) == seq.Duplicate {
				*urgent = true
			}
		case wire.KindPing:
			eliciting = true
		case wire.KindAck:
			if !c.handleAck(now, &f.Ack) {
				return false
			}
		case wire.KindStamp:
			c.steering.arrival = steer.Arrival{Stamped: true, Sent: f.Sent}
		case wire.KindMetric:
			c.told(now, &f)
		case wire.KindChallenge:
			if asked {
				c.drop(DropChallenge)
				continue
			}
			asked = true
			c.challenged(p, in.path, f.Secret)
		case wire.KindResponse:
			if told {
				c.drop(DropChallenge)
				continue
			}
			told = true
			c.answered(now, &f.Secret, p.Keys)
		case wire.KindClose:
			c.drop(DropClosed)
			// One that was under way when the keys were replaced ends nothing.
			if e := c.session.send; e != nil && e.recv == p.Keys {
				c.closeSession(now)
				if !c.out.empty() {
					c.Connect(now)
				}
			}
			return false
		}
	}
	return eliciting
}

// message delivers a message that is new.
func (c *Conn) message(f *wire.Frame) seq.Verdict {
	n := seq.Expand(f.Number, c.inbox.FirstMissing())
	v := c.inbox.Set(n)
	switch v {
	case seq.Duplicate:
		c.drop(DropDuplicate)
	case seq.TooFar:
		c.drop(DropMessageFar)
	default:
		c.stats.Received++
		m := Message{Imm: f.Imm, Expired: f.Kind == wire.KindTombstone}
		if !m.Expired {
			m.Data = f.Payload
		}
		c.received = append(c.received, m)
	}
	return v
}

// alive notes that p works in our direction: something sent on it arrived.
func (c *Conn) alive(now mono.Time, p *path) {
	p.heard = now
	c.sure(p)
	if p.silent() && !p.unsized {
		c.activate(now, p)
	}
}

// forget clears all state that belongs to the peer's former incarnation, in one
// step: what arrived, what is in flight, and every path.
func (c *Conn) forget(now mono.Time) {
	n := c.out.reset()
	c.stats.Drops[DropIncarnation] += uint64(n)
	for _, p := range c.paths {
		for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
			if k := p.sent.At(pn); k.State == ledger.InFlight {
				c.land(p, k)
				k.State = ledger.Acked
			}
		}
		c.settleFreed(p)
		p.largest = 0
		p.peerCE = 0
		c.reopen(now, p)
	}
	c.doubts = doubts{}
	c.in = [steer.MaxPaths + 1]*inPath{}
	c.candidates.Clear()
	c.dirty, c.ack = nil, ackState{}
	c.inbox = seq.Window{}
	c.received, c.taken = nil, 0
	c.steering.copies = copies{}
	c.steering.gauge.Reset()
	c.timer = lossTimer{progress: now, lastSent: now}
	c.restarted = true
}

// reopen makes p fit for a new process of the peer's. A path that the former one
// opened came from a port of its own, which is gone with it. One of ours begins
// anew: its challenge also lets the peer, to whom we are a stranger there, answer.
func (c *Conn) reopen(now mono.Time, p *path) {
	switch {
	case p.state == PathFree:
	case !p.ours:
		c.freePath(now, p)
	default:
		p.state, p.validated, p.unsized = PathCandidate, false, false
		c.usable.Remove(int(p.slot))
		p.probe = probe{next: now.Add(time.Duration(p.slot) * c.openGap())}
		c.probing.Add(int(p.slot))
	}
}

// Restarted reports, once, that the peer is another incarnation than before:
// whatever the layer above knew of it is void.
func (c *Conn) Restarted() bool {
	r := c.restarted
	c.restarted = false
	return r
}
