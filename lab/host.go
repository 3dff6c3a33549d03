package lab

import (
	"net/netip"

	"github.com/srdtun/srdtun/sim/net"
)

// firstPort is where the ports that Host.Port hands out begin.
const firstPort = 10000

// Host is a machine at the edge of the network: an address and a cable.
type Host struct {
	Index int
	Addr  netip.Addr
	Up    *net.Link // its network interface, sending

	Unbound uint64 // packets that came to a port without a node

	engine *net.Engine
	nodes  map[binding]net.Node
	port   uint16
}

// binding is a port of a protocol.
type binding struct {
	proto uint8
	port  uint16
}

func newHost(e *net.Engine, index int, addr netip.Addr) *Host {
	return &Host{Index: index, Addr: addr, engine: e, nodes: map[binding]net.Node{}, port: firstPort}
}

// Port returns the address of a port that nobody has.
func (h *Host) Port() netip.AddrPort {
	h.port++
	return netip.AddrPortFrom(h.Addr, h.port)
}

// Bind lets packets of a protocol to a port go to n, which then owns them: it
// gives them back with Engine.Free when it has read them.
func (h *Host) Bind(proto uint8, port uint16, n net.Node) { h.nodes[binding{proto, port}] = n }

// Send puts p onto the host's cable. The packet is the network's from then on.
func (h *Host) Send(p *net.Packet) { h.Up.Receive(p) }

// Receive implements net.Node.
func (h *Host) Receive(p *net.Packet) {
	n := h.nodes[binding{p.Proto, p.Dst.Port()}]
	if n == nil {
		h.Unbound++
		h.engine.Free(p)
		return
	}
	n.Receive(p)
}
