package net

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Quality holds the properties of one direction of a cable. The zero value describes a perfect link
// of unlimited rate without delay.
type Quality struct {
	Rate  float64       // bytes per second; 0 is unlimited
	Delay time.Duration // propagation delay
	// Jitter is the standard deviation of the delay. With jitter, the delay is normally distributed
	// but never negative. Jitter does not reorder packets.
	Jitter time.Duration
	Queue  int // largest number of queued bytes; further packets are dropped
	Mark   int // number of queued bytes above which ECN-capable packets are marked; 0: never
	MTU    int // size of the largest IP packet that passes, in bytes; 0: no limit
	Policer
	// With Tell set, the link writes its load into packets, as CONGA's switches do. Tell requires a link with a Rate.
	Tell bool

	Loss      float64 // probability of a loss, for each packet
	Burst     Burst
	Cycle     Cycle
	Duplicate float64
	Reorder   float64       // probability that a packet is held back
	HoldMost  time.Duration // longest time for which a packet is held back
	Corrupt   float64       // probability of a flipped bit, for each packet
}

// Burst is the Gilbert-Elliott loss model (Gilbert, "Capacity of a Burst-Noise Channel", BSTJ 1960). The
// link has a good and a bad state, and may change its state at each packet with a given
// probability.
type Burst struct {
	Begin float64 // probability of a change from good to bad
	End   float64 // probability of a change from bad to good
	Loss  float64 // probability of a loss in the bad state
}

// Policer drops packets above a rate without queueing, so a conforming packet passes at once (RFC
// 2475, section 2.3.3.4). A Police rate of 0 means no policer.
type Policer struct {
	Police float64 // bytes per second
	Credit int     // bytes that may pass at once above the rate
}

// Cycle drops packets by count: after Pass packets that pass, Drop packets are dropped. If Drop is
// 0, no packet is dropped.
type Cycle struct{ Pass, Drop int }

// LinkDrop is a reason for which a link drops a packet.
type LinkDrop uint8

// These constants are the reasons for drops by a link.
const (
	LinkDown LinkDrop = iota
	LinkLoss
	LinkBurst
	LinkQueue
	LinkPolicer
	LinkMTU
	LinkFilter
	NumLinkDrops
)

var linkDropNames = [NumLinkDrops]string{"down", "loss", "burst", "queue", "policer", "mtu", "filter"}

// String returns the name of the drop counter.
func (d LinkDrop) String() string { return linkDropNames[d] }

// Link is one direction of a cable.
type Link struct {
	Quality
	To Node
	// With Filters set, the link drops handshake packets.
	Filters bool

	Packets, Bytes uint64 // packets and bytes that were passed on
	Marked         uint64 // passed packets with Congestion Experienced set here
	Drops          [NumLinkDrops]uint64
	Peak           int // largest number of bytes that were ever queued

	engine *Engine
	noun   Noun
	rng    *rand.Rand
	down   int       // number of faults that keep the link down now
	bad    bool      // state of Burst
	turn   int       // position in Cycle
	free   mono.Time // when the queue will be empty
	paid   mono.Time // time up to which the packets that have passed use up the rate Police
	last   mono.Time // arrival of the latest packet delayed by jitter
	load   steer.LinkLoad
	pool   *Pool // shared with other links; nil: none
}

// NewLink returns a link that leads to a node.
func (e *Engine) NewLink(name string, q Quality, to Node) *Link {
	return &Link{Quality: q, To: to, engine: e, noun: e.Name(name), rng: e.Fork()}
}

// Name returns the name of the link.
func (l *Link) Name() string { return l.engine.names[l.noun] }

// Waiting returns the number of bytes in the link's queue.
func (l *Link) Waiting() int {
	if l.Rate == 0 {
		return 0
	}
	return int(max(0, l.free.Sub(l.engine.now)).Seconds() * l.Rate)
}

// Failed reports whether a fault keeps the link down.
func (l *Link) Failed() bool { return l.down > 0 }

// Fail takes the link down, and Restore brings it up again. Each Fail needs its own Restore.
func (l *Link) Fail() {
	l.down++
	l.engine.Note(l.noun, "fails", uint64(l.down), 0, 0)
}

// Restore reverts one call of Fail.
func (l *Link) Restore() {
	l.down--
	l.engine.Note(l.noun, "is restored", uint64(l.down), 0, 0)
}

// Receive implements Node.
func (l *Link) Receive(p *Packet) {
	switch {
	case l.down > 0:
		l.drop(p, LinkDown)
	case l.MTU > 0 && p.Size > l.MTU:
		l.drop(p, LinkMTU)
	case l.Filters && handshake.Kind(p.Data) != 0:
		l.drop(p, LinkFilter)
	case l.chance(l.Loss):
		l.drop(p, LinkLoss)
	case l.burst() || l.cycle():
		l.drop(p, LinkBurst)
	case !l.conforms(p.Size):
		l.drop(p, LinkPolicer)
	default:
		if l.chance(l.Duplicate) {
			c := *p
			l.carry(&c)
		}
		l.carry(p)
	}
}

func (l *Link) chance(p float64) bool { return p > 0 && l.rng.Float64() < p }

// burst advances the Burst model by one packet and reports whether the packet is lost.
func (l *Link) burst() bool {
	if l.bad {
		l.bad = !l.chance(l.Burst.End)
	} else {
		l.bad = l.chance(l.Burst.Begin)
	}
	return l.bad && l.chance(l.Burst.Loss)
}

// cycle advances the Cycle model by one packet and reports whether the packet is lost.
func (l *Link) cycle() bool {
	if l.Cycle.Drop == 0 {
		return false
	}
	l.turn = (l.turn + 1) % (l.Cycle.Pass + l.Cycle.Drop)
	return l.turn == 0 || l.turn > l.Cycle.Pass
}

// conforms reports whether a packet passes the policer, and if so consumes credit. The policer uses
// the virtual scheduling algorithm of ITU-T I.371.
func (l *Link) conforms(size int) bool {
	if l.Police == 0 {
		return true
	}
	now := l.engine.now
	after := max(l.paid, now).Add(time.Duration(float64(size) / l.Police * 1e9))
	if after.Sub(now).Seconds()*l.Police > float64(l.Credit) {
		return false
	}
	l.paid = after
	return true
}

// carry adds p to the queue and schedules its arrival at the other end. The model represents a
// queue by the time at which it will be empty, which is equivalent to the number of queued bytes as
// long as the rate stays the same.
func (l *Link) carry(p *Packet) {
	now := l.engine.now
	at := now
	if l.Rate > 0 {
		l.free = max(l.free, now)
		waiting := int(l.free.Sub(now).Seconds() * l.Rate)
		if waiting > 0 && (waiting+p.Size > l.Queue || waiting+p.Size > l.pool.most()) {
			l.drop(p, LinkQueue)
			return
		}
		if l.Mark > 0 && waiting > l.Mark && p.ECT {
			p.CE = true
			l.Marked++
		}
		if l.Tell {
			// The load is measured when the packet joins the queue, because queued packets are
			// already scheduled.
			p.Load = max(p.Load, 1+l.load.Add(now, p.Size+framing, l.Rate))
		}
		l.Peak = max(l.Peak, waiting)
		l.free = l.free.Add(time.Duration(float64(p.Size+framing) / l.Rate * 1e9))
		at = l.free
	}
	at = at.Add(l.Delay)
	if l.Jitter > 0 {
		at = max(now, l.last, at.Add(time.Duration(l.rng.NormFloat64()*float64(l.Jitter))))
		l.last = at
	}
	if l.HoldMost > 0 && l.chance(l.Reorder) {
		at = at.Add(time.Duration(l.rng.Int64N(int64(l.HoldMost))))
	}
	if len(p.Data) > 0 && l.chance(l.Corrupt) {
		p = l.flip(p)
	}
	l.Packets++
	l.Bytes += uint64(p.Size)
	l.engine.Deliver(at, l.To, p)
}

// flip returns a copy of p with one inverted bit, like an error that a checksum fails to detect.
func (l *Link) flip(p *Packet) *Packet {
	c := *p
	c.Data, c.Zeros = p.Payload(nil), 0
	c.Data[l.rng.IntN(len(c.Data))] ^= 1 << l.rng.IntN(8)
	return &c
}

func (l *Link) drop(p *Packet, why LinkDrop) {
	l.Drops[why]++
	l.engine.Note(l.noun, linkDropNotes[why], p.Digest(), uint64(p.Size), 0)
	l.engine.Free(p)
}

var linkDropNotes = [NumLinkDrops]string{"drops: down", "drops: loss", "drops: burst", "drops: queue", "drops: policer", "drops: mtu", "drops: a handshake"}

// Cable is a pair of links that connect two nodes, one in each direction.
type Cable struct {
	Out, Back *Link
}

// NewCable connects the nodes a and b. The link Out leads from a to b.
func (e *Engine) NewCable(name string, out, back Quality, a, b Node) *Cable {
	return &Cable{Out: e.NewLink(name+">", out, b), Back: e.NewLink(name+"<", back, a)}
}
