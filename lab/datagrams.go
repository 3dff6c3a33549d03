package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// Datagrams is a transport that carries inner UDP flows in a tunnel. Each flow sends datagrams of
// one size at a constant rate, without retransmissions or congestion control. So the delays of the
// datagrams, and the order in which they arrive, show the effect of the tunnel. Flows of the group
// Bulk are TCP connections in the same tunnel.
type Datagrams struct {
	*Tunnel
	cfg   DatagramConfig
	stats [2]DatagramStats // of datagrams sent before Split, and from Split on
}

// DatagramConfig is the configuration of Datagrams.
type DatagramConfig struct {
	Packet int           // size of inner IP packets in bytes
	Every  time.Duration // time between two packets of a flow
	// From is the time, after time zero, from which sent datagrams are counted.
	From time.Duration
	// Split is a time after time zero. Datagrams sent from Split on are counted separately. Zero
	// means that all are counted together.
	Split time.Duration
	// Bulk is the group of the flows that are TCP connections. An empty name means none.
	Bulk string
}

// DatagramStats counts sent, delivered and reordered datagrams.
type DatagramStats struct {
	Sent       int `json:"sent"`
	Arrived    int `json:"arrived"`
	Disordered int `json:"disordered"` // datagrams that arrived after a later one of their flow
	// P50, P99 and Longest are one-way delays in microseconds.
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Longest float64 `json:"longest_us"`

	delays []time.Duration
}

// NewDatagrams returns the datagram transport for a network.
func NewDatagrams(n *Network, cfg SRDConfig, inner TCPConfig, l DatagramConfig) (*Datagrams, error) {
	t, err := NewTunnel(n, cfg, inner)
	return &Datagrams{Tunnel: t, cfg: l}, err
}

// datagramFlow is one flow of datagrams: its sending end, and the receiving node.
type datagramFlow struct {
	load   *Datagrams
	flow   *Flow
	from   *overlay
	packet net.Packet // template of all packets
	next   uint64     // number of the next packet
	newest uint64     // largest number that has arrived, plus one
}

// Open implements Transport.
func (t *Datagrams) Open(f *Flow) error {
	if t.cfg.Bulk != "" && f.Group == t.cfg.Bulk {
		return t.Tunnel.Open(f)
	}
	if err := t.SRD.Open(f); err != nil {
		return err
	}
	end := f.State.(*srdFlow).end
	a, b := t.overlay(end), t.overlay(end.peer)
	l := &datagramFlow{load: t, flow: f, from: a}
	l.packet = net.Packet{Src: end.host.Port(), Dst: end.peer.host.Port(), Proto: net.ProtoUDP, Size: t.cfg.Packet}
	b.conns[l.packet.Dst.Port()] = l
	f.State = l
	return nil
}

// Start implements Transport.
func (t *Datagrams) Start(f *Flow) {
	if l, ok := f.State.(*datagramFlow); ok {
		l.send(f.Left())
		return
	}
	t.Tunnel.Start(f)
}

// counters returns the counters for a datagram that was sent at a given time, or nil if the
// datagram is not counted.
func (t *Datagrams) counters(f *Flow, at mono.Time) *DatagramStats {
	switch sent := at.Sub(f.begun) + f.At; {
	case sent < t.cfg.From:
		return nil
	case t.cfg.Split > 0 && sent >= t.cfg.Split:
		return &t.stats[1]
	}
	return &t.stats[0]
}

// datagram is the information that a packet carries in addition to its size.
type datagram struct {
	number uint64
	at     mono.Time
}

// send sends the flow's next datagram, and schedules the following one.
func (l *datagramFlow) send(left int64) {
	t, now := l.load, l.load.net.Engine.Now()
	p := l.packet
	p.Meta = datagram{l.next, now}
	l.next++
	if s := t.counters(l.flow, now); s != nil {
		s.Sent++
	}
	l.from.Receive(&p)
	if left -= int64(p.Size); left > 0 {
		t.net.Engine.After(t.cfg.Every, func() { l.send(left) })
	}
}

// Receive implements net.Node, and records the arrival of a datagram from the tunnel.
func (l *datagramFlow) Receive(p *net.Packet) {
	t, d := l.load, p.Meta.(datagram)
	l.flow.Deliver(p.Size)
	late := d.number < l.newest
	l.newest = max(l.newest, d.number+1)
	s := t.counters(l.flow, d.at)
	if s == nil {
		return
	}
	s.Arrived++
	if late {
		s.Disordered++
	}
	s.delays = append(s.delays, t.net.Engine.Now().Sub(d.at))
}

// Stats implements Transport.
func (t *Datagrams) Stats() Stats {
	s := t.Tunnel.Stats()
	s.Datagrams = t.stats[0].sorted()
	if t.cfg.Split > 0 {
		s.Split = t.stats[1].sorted()
	}
	return s
}

// sorted returns the counters with the percentiles of the delays.
func (l DatagramStats) sorted() *DatagramStats {
	slices.SortFunc(l.delays, cmp.Compare)
	if n := len(l.delays); n > 0 {
		l.P50, l.P99, l.Longest = micros(l.delays[n/2]), micros(l.delays[n*99/100]), micros(l.delays[n-1])
	}
	return &l
}
