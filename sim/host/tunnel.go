package host

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// innerFlows is the number of inner flows in a tunnel.
	innerFlows = 6
	// innerHeader is the number of bytes in an inner packet before its numbered payload. These
	// bytes are the IPv4 and UDP headers, the sender, the generation and the serial number.
	innerHeader = net.HeaderIPv4 + net.HeaderUDP + 11
	// innerScale multiplies the message sizes of a batch, so that a frame needs several messages.
	innerScale = 4
)

// Tunnel is the application that runs the overlay on a connection. Inner packets wait in the
// ingress queue, and are then cut into messages. The other end reassembles the messages and
// restores the packets' order. The simulated tunnel carries no super-frames.
type Tunnel struct {
	From, To int
	Gen      uint16

	Delivered int // inner packets that arrived at the other end
	Swapped   int // inner packets that arrived here after a later one of their flow

	Source
	host   *Host
	audit  *Audit
	rng    *rand.Rand
	gather *order.Reassembler
	fates  []fate
	newest [innerFlows]int // highest number that arrived, by flow
	held   int             // number of this end's frames that are not released
	alive  int             // number of reassembled frames that are not released
	ready  []*frame.Frame
}

func newTunnel(h *Host, to int, gen uint16, rng *rand.Rand) *Tunnel {
	t := &Tunnel{From: h.Index, To: to, Gen: gen, host: h, audit: h.Audit, rng: rng, Source: Source{Queue: queue.New(queue.Config{LimitBytes: h.QueueBytes})}}
	t.gather = order.NewReassembler(order.Config{Alloc: t.alloc, HeldBytes: h.HeldBytes})
	h.Audit.tunnels = append(h.Audit.tunnels, t)
	return t
}

func (t *Tunnel) alloc(n int) *frame.Frame {
	t.alive++
	return frame.New(make([]byte, n), func(*frame.Frame) { t.alive-- })
}

// Offer implements App. The inner packets enter the queue at once.
func (t *Tunnel) Offer(b Batch) {
	for range b.N {
		size := innerHeader + innerScale*(b.Min+t.rng.IntN(b.Max-b.Min+1))
		f := frame.New(t.inner(size, len(t.fates)), func(f *frame.Frame) {
			t.held--
			clear(f.Data) // overwritten, so that the receiver detects a later retransmission
		})
		f.Flow, f.TCP, f.Facts.Ordered = t.flow(len(t.fates)), b.Class == srd.Stream, t.ordered(len(t.fates))
		t.held++
		t.fates = append(t.fates, 0)
		t.Queue.Push(t.host.Clock(), f)
	}
}

// flow returns the flow of an inner packet.
func (t *Tunnel) flow(serial int) uint32 { return uint32(net.Mix(uint64(serial)) % innerFlows) }

// ordered reports whether an inner packet must arrive in its flow's order.
func (t *Tunnel) ordered(serial int) bool { return !t.host.Unordered || t.flow(serial)%2 == 0 }

// inner builds an inner packet.
func (t *Tunnel) inner(size, serial int) []byte {
	b := make([]byte, size)
	b[0], b[8], b[9] = 0x45, 64, net.ProtoUDP
	binary.BigEndian.PutUint16(b[2:], uint16(size))
	copy(b[12:], netip.AddrFrom4([4]byte{192, 168, byte(t.From), 1}).AsSlice())
	copy(b[16:], netip.AddrFrom4([4]byte{192, 168, byte(t.To), 1}).AsSlice())
	u := b[net.HeaderIPv4:]
	binary.BigEndian.PutUint16(u, uint16(1000+t.flow(serial)))
	binary.BigEndian.PutUint16(u[2:], 2000)
	binary.BigEndian.PutUint16(u[4:], uint16(len(u)))
	u[8] = byte(t.From)
	binary.BigEndian.PutUint16(u[9:], t.Gen)
	binary.BigEndian.PutUint64(u[11:], uint64(serial))
	fill(b[innerHeader:], serial)
	return b
}

// Withdraw implements App. A frame that was already cut in part is still sent.
func (t *Tunnel) Withdraw() { t.Queue.Flush(nil) }

// Backlog implements srd.Source. If Tells is not set, Backlog always returns true.
func (t *Tunnel) Backlog() bool { return !t.host.Tells || t.Pending() }

// Pending implements App.
func (t *Tunnel) Pending() bool { return t.Source.Backlog() }

// Deliver implements App.
func (t *Tunnel) Deliver(now mono.Time, m *srd.Message) {
	t.gather.Add(now, m)
	t.take()
}

// Restarted implements App.
func (t *Tunnel) Restarted(now mono.Time) {
	t.gather.Reset(now)
	t.Cut.Reset()
	t.take()
}

// Advance implements App.
func (t *Tunnel) Advance(now mono.Time, c *srd.Conn) {
	t.gather.SetHold(order.HoldFor(order.DefaultHold, c.RTT()))
	t.Queue.SetTarget(queue.Aim(c.RTT(), c.Failing(now)))
	t.gather.Advance(now)
	t.take()
}

// Deadline implements App.
func (t *Tunnel) Deadline() mono.Time { return t.gather.Deadline() }

// take delivers the inner packets that are next in order.
func (t *Tunnel) take() {
	t.ready = t.gather.TakeReady(t.ready[:0])
	for _, f := range t.ready {
		if t.audit.inner(t.To, t.From, f.Data) {
			t.Swapped++
		}
		f.Release()
	}
	if s := t.gather.Stats(); t.Swapped > int(s.Late) {
		t.audit.Fail("%d inner packets came to host %d out of order, %d are known to be late", t.Swapped, t.From, s.Late)
	}
}

// inner checks an inner packet that left a tunnel between two hosts. The result of inner() is
// true if a later packet of the flow arrived first although order was required.
func (a *Audit) inner(from, at int, b []byte) (swapped bool) {
	if len(b) < innerHeader {
		a.Fail("host %d got an inner packet of %d bytes", at, len(b))
		return false
	}
	u := b[net.HeaderIPv4:]
	host, gen := int(u[8]), binary.BigEndian.Uint16(u[9:])
	for _, t := range a.tunnels {
		if t.From == host && t.To == at && t.Gen == gen && host == from {
			return t.arrive(b, int(binary.BigEndian.Uint64(u[11:])))
		}
	}
	a.Fail("host %d got an inner packet as from %d that says host %d, process %d", at, from, host, gen)
	return false
}

func (t *Tunnel) arrive(b []byte, serial int) (swapped bool) {
	if serial < 0 || serial >= len(t.fates) {
		t.audit.Fail("inner packet %d arrived, host %d has sent only %d", serial, t.From, len(t.fates))
		return false
	}
	if t.fates[serial]&delivered != 0 {
		t.audit.Fail("inner packet %d of host %d arrived again", serial, t.From)
	}
	t.fates[serial] |= delivered
	t.Delivered++
	n := int(binary.BigEndian.Uint16(b[2:]))
	if i := wrong(b[innerHeader:], serial); n != len(b) || i >= 0 {
		t.audit.Fail("inner packet %d of host %d: %d bytes of %d, byte %d wrong", serial, t.From, len(b), n, i)
	}
	newest := &t.newest[t.flow(serial)]
	swapped = serial < *newest && t.ordered(serial)
	*newest = max(*newest, serial)
	return swapped
}

// Stats returns the counters of the queue and the reassembler.
func (t *Tunnel) Stats() (queue.Stats, order.Stats) { return t.Queue.Stats(), t.gather.Stats() }

// Begun implements App.
func (t *Tunnel) Begun() int { return len(t.fates) }

// Undelivered implements App.
func (t *Tunnel) Undelivered(first int) (n, example int) {
	return missing(t.fates, first, delivered)
}

// Dropped implements App. Dropped counts packets that the ingress queue dropped to limit its delay.
// Dropped also counts frames of which a message was given up or arrived late.
func (t *Tunnel) Dropped() int {
	q := t.Queue.Stats()
	n := q.Dropped + q.Overflow + q.Flushed
	for _, other := range t.audit.tunnels {
		if other.From == t.To && other.To == t.From {
			n += other.gather.Stats().Voided
		}
	}
	return int(n)
}

// orphaned returns the number of frames that programs at the other end had not released when they
// were killed.
func (t *Tunnel) orphaned() (n int) {
	for _, other := range t.audit.tunnels {
		if other.From == t.To && other.To == t.From && other.Gen+1 < other.host.gen {
			n += other.alive
		}
	}
	return n
}

// Open implements App.
func (t *Tunnel) Open() int { return t.held + t.alive }

// Sending implements App.
func (t *Tunnel) Sending() int { return t.held }

// Look implements App.
func (t *Tunnel) Look(c *srd.Conn) {
	if !c.Backlog() && !t.Pending() && t.held != 0 {
		t.audit.Fail("host %d has nothing to send but holds %d frames", t.From, t.held)
	}
	t.lookOrder()
	if n := t.Queue.Bytes(); n > cmp.Or(t.host.QueueBytes, queue.DefaultLimitBytes) {
		t.audit.Fail("host %d lets %d bytes wait", t.From, n)
	}
}

// lookOrder checks the reassembler's counters. Three of them count gaps: TimedOut, Overflow and
// OverShare. A frame can only be late if one of these gaps was given up.
func (t *Tunnel) lookOrder() {
	s := t.gather.Stats()
	if s.HeldNow < 0 || s.HeldBytes < 0 || s.Memory < s.HeldBytes || s.Memory > cmp.Or(t.host.HeldBytes, order.DefaultHeldBytes) || s.Longest > holdMost {
		t.audit.Fail("host %d holds frames: %+v", t.From, s)
	}
	if s.Late > 0 && s.TimedOut+s.Overflow+s.OverShare == 0 {
		t.audit.Fail("host %d hands %d frames on late, and has given no gap up", t.From, s.Late)
	}
}

// holdMost bounds the time for which a frame may wait for earlier ones: the reassembler's longest
// wait, plus the longest pause of a host.
const holdMost = order.MostHold + 6*time.Second

// Account implements App. Each missing packet must have been dropped by the queue or by one end, or
// lost in a restart.
func (t *Tunnel) Account(c *srd.Conn) {
	x, g := c.Stats(), t.gather.Stats()
	excused := uint64(t.Dropped()+t.orphaned()) + x.GivenUp + x.Drops[srd.DropIncarnation]
	if n, first := t.Undelivered(0); uint64(n) > excused {
		for _, other := range t.audit.tunnels {
			t.host.engine.Say("tunnel %d>%d: %+v %+v", other.From, other.To, other.Queue.Stats(), other.gather.Stats())
		}
		t.audit.Fail("%d inner packets of host %d have vanished, first %d, %d excused", n, t.From, first, excused)
	}
	if g.HeldNow != 0 || g.Bad != 0 {
		t.audit.Fail("host %d at the end: %+v", t.From, g)
	}
}
