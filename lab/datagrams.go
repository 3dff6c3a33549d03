package lab

import (
	"cmp"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// Datagrams is a transport that carries inner UDP flows in a tunnel. Each flow sends datagrams of
// one size at a constant rate, without repairs or congestion control. The datagrams' delays and
// order of arrival therefore show the effect of the tunnel.
type Datagrams struct {
	*Tunnel
	cfg   DatagramConfig
	stats DatagramStats
}

// DatagramConfig is the configuration of Datagrams.
type DatagramConfig struct {
	Packet int           // bytes of inner IP packets
	Every  time.Duration // between two packets of a flow
	// From is the time, after time zero, from which sent datagrams are counted.
	From time.Duration
}

// DatagramStats counts sent, delivered and reordered datagrams.
type DatagramStats struct {
	Sent       int `json:"sent"`
	Arrived    int `json:"arrived"`
	Disordered int `json:"disordered"` // came after a later one of their flow
	// P50, P99 and Longest are one-way delays in microseconds.
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Longest float64 `json:"longest_us"`

	delays []time.Duration
}

// NewDatagrams returns the datagram transport for a network.
func NewDatagrams(n *Network, cfg SRDConfig, l DatagramConfig) (*Datagrams, error) {
	t, err := NewTunnel(n, cfg, TCPConfig{})
	return &Datagrams{Tunnel: t, cfg: l}, err
}

// datagramFlow is one flow of datagrams: its sending end, and the receiving node.
type datagramFlow struct {
	load   *Datagrams
	flow   *Flow
	from   *overlay
	packet net.Packet // the pattern of all
	next   uint64     // number of the next packet
	newest uint64     // one above the latest number that arrived
}

// Open implements Transport.
func (t *Datagrams) Open(f *Flow) error {
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
func (t *Datagrams) Start(f *Flow) { f.State.(*datagramFlow).send(f.Left()) }

// counts reports whether a datagram that was sent at a given time is counted.
func (t *Datagrams) counts(f *Flow, at mono.Time) bool { return at.Sub(f.begun)+f.At >= t.cfg.From }

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
	if t.counts(l.flow, now) {
		t.stats.Sent++
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
	if !t.counts(l.flow, d.at) {
		return
	}
	t.stats.Arrived++
	if late {
		t.stats.Disordered++
	}
	t.stats.delays = append(t.stats.delays, t.net.Engine.Now().Sub(d.at))
}

// Stats implements Transport.
func (t *Datagrams) Stats() Stats {
	s, l := t.Tunnel.Stats(), t.stats
	slices.SortFunc(l.delays, cmp.Compare)
	if n := len(l.delays); n > 0 {
		l.P50, l.P99, l.Longest = micros(l.delays[n/2]), micros(l.delays[n*99/100]), micros(l.delays[n-1])
	}
	s.Datagrams = &l
	return s
}
