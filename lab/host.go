package lab

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/sim/net"
)

// firstPort is the first port of Host.Port.
const firstPort = 10000

// Host is a machine at the edge of the network: an address and a cable.
type Host struct {
	Index int
	Addr  netip.Addr
	More  []netip.Addr // further addresses, each with all ports
	Up    *net.Link    // its network interface, sending

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

// Addrs returns all addresses.
func (h *Host) Addrs() []netip.Addr { return append([]netip.Addr{h.Addr}, h.More...) }

// number returns the place of an address among the host's.
func (h *Host) number(a netip.Addr) int { return slices.Index(h.More, a) + 1 }

// Port returns the address of an unused port.
func (h *Host) Port() netip.AddrPort {
	h.port++
	return netip.AddrPortFrom(h.Addr, h.port)
}

// Bind lets packets of a protocol to a port go to n. The node then owns them: after it has
// read one, it gives it back with Engine.Free.
func (h *Host) Bind(proto uint8, port uint16, n net.Node) { h.nodes[binding{proto, port}] = n }

// Send puts p onto the host's cable. Then the network owns the packet.
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
