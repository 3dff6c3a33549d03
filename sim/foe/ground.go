package foe

import (
	"net/netip"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
)

// Ground holds the part of the network that adversaries use: all hosts and the nodes in front of
// each host.
type Ground struct {
	Engine *net.Engine
	Places []*Place // place of each host
	// Addr maps an IPv4 address to the corresponding address of the simulated network, which may be
	// IPv6.
	Addr func(netip.Addr) netip.Addr
}

// Place is one host with the nodes in front of it.
type Place struct {
	Host    *host.Host
	Leaf    *net.Switch
	Tap     *Tap
	Hidden  bool // behind a translator, so no other host knows its address
	Passive bool // the host knows no address of its peers
}

// place returns the Place of a node, or nil if the node is not a host.
func (g *Ground) place(n net.Node) *Place {
	for _, p := range g.Places {
		if net.Node(p.Host) == n {
			return p
		}
	}
	return nil
}

// Infest connects the taps to the network.
func (g *Ground) Infest(x Strangers) {
	void := &hole{engine: g.Engine, noun: g.Engine.Name("mute")}
	for n := range x.Mute {
		g.route(muteAddr(n), void)
	}
	for i, p := range g.Places {
		t := p.Tap
		t.foes, t.ground = x, g
		t.Race = x.Race
		for n := range x.Mute {
			t.mute = append(t.mute, g.Addr(muteAddr(n)))
		}
		for n := range x.Mail {
			t.mail = append(t.mail, g.Addr(mailAddr(i, n)))
			g.route(mailAddr(i, n), sink{t})
		}
	}
	for _, v := range x.Floods {
		g.Places[v.Host].Tap.aim(v)
	}
}

// route adds a route to an adversary's address on all leaves.
func (g *Ground) route(a netip.Addr, to net.Node) {
	for _, p := range g.Places {
		p.Leaf.Route(g.Addr(a), to)
	}
}

// muteAddr returns an address that no host has, and from which adversaries send forged packets.
func muteAddr(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, byte(n)}) }

// mailAddr returns an address at which the attacker in front of a host receives packets.
func mailAddr(host, n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, byte(host), byte(n)}) }

// hole drops all packets to mute addresses.
type hole struct {
	engine *net.Engine
	noun   net.Noun
	bytes  uint64
}

// Receive implements Node.
func (v *hole) Receive(p *net.Packet) {
	v.bytes += uint64(len(p.Data))
	v.engine.Note(v.noun, "gets", p.Digest(), uint64(len(p.Data)), 0)
}
