package lab

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/sim/net"
)

// firstPort is the first port that Host.Port returns.
const firstPort = 10000

// Host is a machine at the edge of the network, with an address and a cable.
type Host struct {
	Index int
	Addr  netip.Addr
	More  []netip.Addr // further addresses, each with all ports
	Up    *net.Link    // the sending direction of its network interface

	Unbound uint64 // number of packets that arrived at a port without a node

	engine *net.Engine
	nodes  map[binding]net.Node
	port   uint16
}

// binding is a port of a transport protocol.
type binding struct {
	proto uint8
	port  uint16
}

func newHost(e *net.Engine, index int, addr netip.Addr) *Host {
	return &Host{Index: index, Addr: addr, engine: e, nodes: map[binding]net.Node{}, port: firstPort}
}

// Addrs returns all addresses of the host.
func (h *Host) Addrs() []netip.Addr { return append([]netip.Addr{h.Addr}, h.More...) }

// number returns the index of an address among the host's addresses.
func (h *Host) number(a netip.Addr) int { return slices.Index(h.More, a) + 1 }

// Port returns the host's address with an unused port.
func (h *Host) Port() netip.AddrPort {
	h.port++
	return netip.AddrPortFrom(h.Addr, h.port)
}

// Bind delivers packets for a protocol and port to n. The node n owns each packet that is delivered
// to it, and must return it with Engine.Free.
func (h *Host) Bind(proto uint8, port uint16, n net.Node) { h.nodes[binding{proto, port}] = n }

// Send transmits p over the host's cable. After the call the network owns the packet p.
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
