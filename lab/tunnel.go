package lab

import (
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/lab/tcp"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Tunnel is a transport that carries TCP inside srdtun. The tunnel runs the overlay, with its queue
// and its reordering buffer, on top of the transport SRD. Inside the tunnel, each flow has a
// connection of the model in lab/tcp. The tunnel carries no super-frames.
type Tunnel struct {
	*SRD
	tcp   TCPConfig
	inner map[*srdEnd]*overlay
	conns []*tcp.Conn
}

// innerLess is the difference in bytes between the network's MTU and the inner MTU. An inner packet
// of the smaller MTU fits into one message. A real tunnel may use one MTU for both, because cutting
// a super-frame leaves only one small remainder. In this model a larger inner packet would leave a
// remainder, because there are no super-frames.
const innerLess = 100

// innerWindow bounds the bytes in flight of an inner connection. The value of innerWindow is
// Linux's default maximum of a send buffer (tcp_wmem).
const innerWindow = 4 << 20

// NewTunnel returns the tunnel transport for a network.
func NewTunnel(n *Network, cfg SRDConfig, inner TCPConfig) (*Tunnel, error) {
	inner.MSS, inner.Window = 0, innerWindow
	inner.MTU, inner.HyStart = cfg.MTU-innerLess, true
	t, err := NewSRD(n, cfg)
	return &Tunnel{SRD: t, tcp: inner, inner: map[*srdEnd]*overlay{}}, err
}

// Open implements Transport.
func (t *Tunnel) Open(f *Flow) error {
	if err := t.SRD.Open(f); err != nil {
		return err
	}
	cfg := t.config(f)
	end := f.State.(*srdFlow).end
	a, b := t.overlay(end), t.overlay(end.peer)
	local, remote := end.host.Port(), end.peer.host.Port()
	x := tcp.NewConn(t.net.Engine, cfg, a, local, remote)
	y := tcp.NewConn(t.net.Engine, cfg, b, remote, local)
	a.conns[local.Port()], b.conns[remote.Port()] = x, y
	t.join(f, x, y)
	return nil
}

// join makes the connection from x to y carry the flow f.
func (t *Tunnel) join(f *Flow, x, y *tcp.Conn) {
	t.conns = append(t.conns, x, y)
	y.Received = delivers(f)
	f.State = x
}

// config returns the configuration of a flow's connection. The configured RTT is the RTT of an
// empty network, as if a handshake had measured it.
func (t *Tunnel) config(f *Flow) tcp.Config {
	there, _ := t.net.Path(f.Src, f.Dst, ackBytes)
	cfg := t.tcp.Config
	cfg.RTT = 2 * there
	return cfg
}

// Settled implements Transport, and reports whether every path is in use. The full packet size of a
// path may still be unknown, because a lossy network may have lost a probe.
func (t *Tunnel) Settled() bool {
	return t.settled(func(e *srdEnd) bool {
		paths := e.conn.Paths()
		for _, p := range paths {
			if p.State != srd.PathActive || p.MTU == srd.BasePacket {
				return false
			}
		}
		return len(paths) >= len(e.tuples())
	})
}

// Start implements Transport.
func (t *Tunnel) Start(f *Flow) { f.State.(writer).Write(min(f.Left(), endlessWrite)) }

// Stats implements Transport. The overlay's counters start at time zero or earlier, because before
// time zero the buffers are empty.
func (t *Tunnel) Stats() Stats {
	s := t.SRD.Stats()
	s.Order = &OrderStats{}
	for _, o := range t.inner {
		g := o.gather.Stats()
		s.Order.Add(&OrderStats{
			Delivered: g.Delivered, Held: g.Reordered, TimedOut: g.TimedOut,
			MostHeld: o.peak.HeldNow, MostBytes: o.peak.HeldBytes, Longest: micros(g.Longest),
		})
	}
	s.Inner = &InnerStats{}
	for _, o := range t.inner {
		q := o.Queue.Stats()
		s.Inner.Queue += q.Dropped + q.Overflow
	}
	for _, c := range t.conns {
		s.Inner.Retransmitted += c.Stats.Retransmitted
		s.Inner.Timeouts += c.Stats.Timeouts
	}
	return s
}

func (t *Tunnel) overlay(e *srdEnd) *overlay {
	if o := t.inner[e]; o != nil {
		return o
	}
	o := &overlay{end: e, conns: map[uint16]net.Node{}, Source: host.Source{Queue: queue.New(queue.Config{})}}
	o.gather = newGather()
	e.app, t.inner[e] = o, o
	return o
}

func newGather() *order.Reassembler {
	return order.NewReassembler(order.Config{Alloc: func(n int) *frame.Frame { return frame.New(make([]byte, n), nil) }})
}

// overlay is one end of a tunnel, and acts as a peer in overlay/daemon.
type overlay struct {
	host.Source
	end     *srdEnd
	conns   map[uint16]net.Node // by port
	gather  *order.Reassembler
	serial  uint32
	peak    order.Stats            // maxima of the buffer's counters
	packets map[uint32]*net.Packet // packets in transit, by serial number; the other end removes them
	ready   []*frame.Frame
}

// These constants are offsets after the IPv4 header of the fields that identify an inner packet.
const (
	innerHeader = 20
	innerSerial = innerHeader
	innerLeast  = innerHeader + 4
)

// Receive implements net.Node for a packet of an inner connection that starts at this end.
func (o *overlay) Receive(p *net.Packet) {
	o.serial++
	b := make([]byte, max(p.Size, innerLeast))
	b[0], b[8], b[9] = 0x45, 64, p.Proto
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint32(b[innerSerial:], o.serial)
	if o.packets == nil {
		o.packets = map[uint32]*net.Packet{}
	}
	o.packets[o.serial] = p
	f := frame.New(b, nil)
	f.Flow, f.TCP, f.Facts.Ordered = flowOf(p.Src, p.Dst), p.Proto == net.ProtoTCP, !o.end.host.srd.cfg.Unordered
	o.Queue.Push(o.end.host.engine.Now(), f)
	o.end.service()
}

// flowOf returns a hash of an inner connection's addresses. The hash is good enough for the few
// connections of an experiment.
func flowOf(src, dst netip.AddrPort) uint32 {
	return uint32(src.Port())*0x9e3779b1 ^ uint32(dst.Port())*0x85ebca6b
}

func (o *overlay) deliver(now mono.Time, m *srd.Message) {
	o.gather.Add(now, m)
	s := o.gather.Stats()
	o.peak.HeldNow, o.peak.HeldBytes = max(o.peak.HeldNow, s.HeldNow), max(o.peak.HeldBytes, s.HeldBytes)
	o.take(now)
}

func (o *overlay) advance(now mono.Time) {
	o.gather.SetHold(order.HoldFor(order.DefaultHold, o.end.conn.RTT()))
	o.gather.Advance(now)
	o.Queue.SetTarget(queue.Aim(o.end.conn.RTT(), o.end.conn.Failing(now)))
	o.end.control.Flows(o.Queue.Flows())
	o.take(now)
}

func (o *overlay) deadline() mono.Time { return o.gather.Deadline() }

// restarted implements endApp. The tunnel drops the rest of a partly sent frame, which is useless
// to a new process.
func (o *overlay) restarted(now mono.Time) {
	o.gather.Reset(now)
	o.Cut.Reset()
}

// ended implements endApp. Frames that wait in a process, or are being reassembled, are lost when
// the process ends. Later frames stay in the device until the next process reads them.
func (o *overlay) ended(mono.Time) {
	o.Queue.Flush(nil)
	o.Cut.Reset()
	o.gather = newGather()
}

// take delivers the inner packets that are next in order. Inner TCP replies immediately, so the
// connection's state machine must not be in a call when take is called.
func (o *overlay) take(now mono.Time) {
	e := o.end
	from := e.peer.app.(*overlay).packets
	o.ready = o.gather.TakeReady(o.ready[:0])
	for _, f := range o.ready {
		serial := binary.BigEndian.Uint32(f.Data[innerSerial:])
		if p := from[serial]; p != nil {
			delete(from, serial)
			e.host.engine.Deliver(now, o.conns[p.Dst.Port()], p)
		}
		f.Release()
	}
}
