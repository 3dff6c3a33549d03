package lab

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/lab/tcp"
	"github.com/srdtun/srdtun/sim/net"
)

// TCPConfig is the configuration of TCP connections.
type TCPConfig struct {
	tcp.Config
	// If Subflows is above 1, each connection uses MPTCP with that many subflows.
	Subflows int
}

// tcpHeaders is the size in bytes of the IPv4 and TCP headers with the timestamp option. The
// constant mptcpHeaders is the size of MPTCP's data sequence option.
const (
	tcpHeaders   = 52
	mptcpHeaders = 20
)

// ackBytes is the approximate size of an acknowledgement with its framing, in bytes. From it the
// model computes the RTT that a connection gets, because there is no handshake that measures it.
const ackBytes = 100

// TCP is a transport made of connections of the model in lab/tcp. Each flow has a connection with
// its own ports, which is open before time zero.
type TCP struct {
	cfg   TCPConfig
	net   *Network
	nics  []*tcp.NIC // network card of each host
	conns []*tcp.Conn
}

// NewTCP returns the TCP transport for a network.
func NewTCP(n *Network, cfg TCPConfig) *TCP {
	t := &TCP{cfg: cfg, net: n, nics: make([]*tcp.NIC, len(n.Hosts))}
	for i, h := range n.Hosts {
		t.nics[i] = tcp.NewNIC(n.Engine, h.Up.Rate)
	}
	return t
}

// writer is a connection of TCP or MPTCP.
type writer interface{ Write(n int64) }

// hostLink makes a host's cable usable as a net.Node.
type hostLink struct{ *Host }

func (l hostLink) Receive(p *net.Packet) { l.Send(p) }

// Open implements Transport.
func (t *TCP) Open(f *Flow) error {
	a, b := t.net.Hosts[f.Src], t.net.Hosts[f.Dst]
	there, _ := t.net.Path(f.Src, f.Dst, ackBytes)
	cfg := t.cfg.Config
	cfg.RTT = 2 * there
	out, back := cfg, cfg
	out.NIC, back.NIC = t.nics[f.Src], t.nics[f.Dst]
	n := max(1, t.cfg.Subflows)
	var local, remote []netip.AddrPort
	for range n {
		local, remote = append(local, a.Port()), append(remote, b.Port())
	}
	received := delivers(f)
	if n == 1 {
		x := tcp.NewConn(t.net.Engine, out, hostLink{a}, local[0], remote[0])
		y := tcp.NewConn(t.net.Engine, back, hostLink{b}, remote[0], local[0])
		y.Received = received
		a.Bind(net.ProtoTCP, local[0].Port(), x)
		b.Bind(net.ProtoTCP, remote[0].Port(), y)
		f.State, t.conns = x, append(t.conns, x, y)
		return nil
	}
	x := tcp.NewMulti(t.net.Engine, out, hostLink{a}, local, remote)
	y := tcp.NewMulti(t.net.Engine, back, hostLink{b}, remote, local)
	y.Received = received
	for i := range n {
		a.Bind(net.ProtoTCP, local[i].Port(), x)
		b.Bind(net.ProtoTCP, remote[i].Port(), y)
	}
	f.State, t.conns = x, append(append(t.conns, x.Subflows()...), y.Subflows()...)
	return nil
}

// delivers returns a callback that receives the total number of bytes delivered for f.
func delivers(f *Flow) func(total int64) {
	told := int64(0)
	return func(total int64) {
		n := total - told
		told = total
		f.Deliver(int(n))
	}
}

// Settled implements Transport.
func (t *TCP) Settled() bool { return true }

// endlessWrite is the number of bytes that an endless flow writes. It is more than any run can
// carry.
const endlessWrite = 1 << 50

// Start implements Transport.
func (t *TCP) Start(f *Flow) { f.State.(writer).Write(min(f.Left(), endlessWrite)) }

// Stats implements Transport.
func (t *TCP) Stats() (s Stats) {
	for _, c := range t.conns {
		s.Packets += c.Stats.Segments
		s.Retransmitted += c.Stats.Retransmitted
		s.Spurious += c.Stats.Spurious
		s.Timeouts += c.Stats.Timeouts
		s.Acks += c.Stats.Acks
	}
	return s
}

// tcpOf returns the configuration of a TCP transport in a plan.
func tcpOf(p *TransportPlan) TCPConfig {
	c := tcp.Linux()
	c.MSS = p.MTU - tcpHeaders
	if p.Subflows > 1 {
		c.MSS -= mptcpHeaders
	}
	if p.MinRTO.Duration > 0 {
		c.MinRTO = p.MinRTO.Duration
	}
	c.Uncoupled, c.LateJoins = !p.Coupled, !p.Coupled
	algorithms[p.Algorithm](&c)
	return TCPConfig{Config: c, Subflows: p.Subflows}
}

// algorithms maps the names of congestion control algorithms in plans to functions that select
// them.
var algorithms = map[string]func(*tcp.Config){
	"":      func(*tcp.Config) {},
	"cubic": func(*tcp.Config) {},
	"linux": (*tcp.Config).AsKernel,
	"reno":  func(c *tcp.Config) { c.Algorithm = tcp.Reno },
	"dctcp": func(c *tcp.Config) { c.Algorithm, c.ECN = tcp.DCTCP, true },
}

// mostSubflows bounds the number of MPTCP subflows in a plan. Kernels allow 8.
const mostSubflows = 64

// leastRTO is the smallest valid minimum RTO in a plan. It is above any round trip of the
// experiments.
const leastRTO = time.Millisecond
