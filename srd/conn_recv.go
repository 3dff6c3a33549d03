package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Inbound flow:
//
//	1. driver: datagram -> receiver index -> RecvKeys (no lock of ours)
//	2. Fresh: while a path works, a packet whose number was seen before is dropped without decryption
//	3. RecvKeys.Open, outside of the lock
//	4. Handle: check and record the packet number, then handle the frames
//	5. Recv: return the new messages
//
// Handle reads frames only after RecvKeys.Open has authenticated the packet.

// Fresh reports whether a packet with this slot and packet number could be new. Fresh is
// a cheap check before decryption; Handle makes the exact check.
func (c *Conn) Fresh(slot uint16, pn uint64) bool {
	if slot > candidateSlot {
		c.env.drop(DropSlot)
		return false
	}
	if in := c.receiver.on(slot); in != nil && !in.seen.Fresh(pn) && !c.session.stranger() && !c.paths.usable.Empty() {
		c.env.drop(DropReplay)
		return false
	}
	return true
}

// Handle handles one decrypted packet. The messages in the packet alias p.Plain: call
// Recv until it returns false before the buffer is used again.
func (c *Conn) Handle(now mono.Time, p *Packet) {
	if p.Slot > candidateSlot {
		c.env.drop(DropSlot)
		return
	}
	if !c.session.accepts(now, p.Keys) {
		c.env.drop(DropSessionOld)
		return
	}
	if c.paths.refuses(p.Tuple.Remote.Addr()) {
		c.env.drop(DropWithdrawn)
		return
	}
	c.confirm(now, p) // may clear all receive state
	in := c.receiver.on(p.Slot)
	if in == nil {
		in = &inPath{slot: p.Slot, reported: [2]uint64{p.PN, p.PN}}
		c.receiver.add(in)
	}
	next := in.seen.Next()
	if !in.seen.Set(p.PN) {
		c.env.drop(DropReplay)
		c.paths.arrivedAgain(now, p)
		return
	}
	p.At = arrival(now, p.At)
	c.env.stats.RxBytes += uint64(p.Size)
	c.env.lastHeard = now
	c.session.used(now, p.Keys)
	c.session.concede(now, p.Keys)
	urgent := c.receiver.arrive(in, p, next)
	c.paths.arrived(now, p)
	if eliciting := c.frames(now, p, &urgent); eliciting {
		if !in.queued {
			in.queued = true
			c.receiver.pending = append(c.receiver.pending, in)
		}
		c.receiver.ack.arrived(now, p.At, p.Size, urgent, c.env.rtt.Smoothed(), c.env.cfg.Control.Queue(), &c.env.hosts)
	}
	c.choice.measure(now, p)
}

// waitMost bounds the time between a packet's arrival at the host and its handling. A
// longer time means that the process was stopped, or that the kernel's clock differs from
// the process's clock.
const waitMost = time.Second

// arrival returns the time when a packet reached the host: the packet's stamp `at`, or
// `now` if the stamp is impossible.
func arrival(now, at mono.Time) mono.Time {
	if at <= 0 || at > now || now.Sub(at) > waitMost {
		return now
	}
	return at
}

// frames handles all frames of p, and reports whether any frame elicits an
// acknowledgement.
func (c *Conn) frames(now mono.Time, p *Packet, urgent *bool) (eliciting bool) {
	var f wire.Frame
	var asked, answered bool // a challenge or a response was read; only the first of each in a packet counts
	for rest := p.Plain; len(rest) > 0; {
		var ok bool
		if rest, ok = wire.Next(rest, &f); !ok {
			c.env.drop(DropMalformed)
			return eliciting
		}
		if p.Slot == candidateSlot && f.Kind.Elicits() {
			c.env.drop(DropMalformed) // no frame in this slot may request an acknowledgement
			return false
		}
		switch f.Kind {
		case wire.KindMessage, wire.KindTombstone:
			eliciting = true
			if c.receiver.message(&f) == seq.Duplicate {
				*urgent = true
			}
		case wire.KindPing:
			eliciting = true
		case wire.KindAck:
			if !c.recovery.handleAck(now, p.At, c.receiver.waited(now, p, f.Ack.Clock), &f.Ack) {
				c.lied(now)
				return false
			}
		case wire.KindStamp:
			c.choice.steering.arrival = steer.Arrival{Stamped: true, Sent: f.Sent}
		case wire.KindMetric:
			c.choice.reported(now, &f)
		case wire.KindHost:
			c.env.hosts.peer = time.Duration(f.Late) * wire.HoldUnit
		case wire.KindChallenge:
			if asked {
				c.env.drop(DropChallenge)
				continue
			}
			asked = true
			c.paths.challenged(p, f.Secret)
		case wire.KindResponse:
			if answered {
				c.env.drop(DropChallenge)
				continue
			}
			answered = true
			if !c.paths.measured(now, &f.Secret) {
				c.paths.answered(now, p.At, &f.Secret, p.Keys)
			}
		case wire.KindClose:
			c.env.drop(DropClosed)
			// A CLOSE under replaced keys was delayed in the network, and is ignored.
			if e := c.session.send; e != nil && e.recv == p.Keys {
				c.session.closeSession(now)
				if !c.recovery.out.empty() {
					c.Connect(now)
				}
			}
			return false
		}
	}
	return eliciting
}
