package swarm

import (
	"fmt"
	"net/netip"

	"github.com/srdtun/srdtun/sim/foe"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
)

// FabricSpec describes a leaf-spine network, in which every host has its own leaf switch, and every
// leaf has a cable to every spine.
type FabricSpec struct {
	Hosts  []host.Config // Addrs is filled in
	Spines int
	// With Rails set, each host has one address per spine, like a host with several uplinks.
	// Packets to the address of a spine pass only that spine. Without Rails each host has one
	// address and ECMP chooses the spine.
	Rails bool
	// Cables[host][spine] holds the qualities of both directions of a cable: to the spine, and back.
	Cables  [][][2]net.Quality
	NAT     []bool // for each host: it is behind a translator, so it must begin the handshakes
	Passive []bool // for each host: it knows no address of its peers, so they must begin the handshakes
	V6      bool   // addresses are IPv6
	Nowhere bool   // peers know another address of each host, which is unreachable
}

// Fabric is a leaf-spine network. Every host is a peer of all other hosts.
type Fabric struct {
	Engine *net.Engine
	Audit  *host.Audit
	Hosts  []*host.Host
	Leaves []*net.Switch
	Spines []*net.Switch
	Taps   []*foe.Tap
	NATs   []*net.NAT // nil where there is none
	Cables [][]*net.Cable

	spec   FabricSpec
	ground foe.Ground
}

// NewFabric builds the leaf-spine network that spec describes. No program runs on the new hosts
// yet.
func NewFabric(e *net.Engine, spec FabricSpec) *Fabric {
	f := &Fabric{Engine: e, Audit: host.NewAudit(e), spec: spec}
	f.ground = foe.Ground{Engine: e, Addr: f.addr}
	rng := e.Fork()
	for k := range spec.Spines {
		f.Spines = append(f.Spines, e.NewSwitch(fmt.Sprintf("spine%d", k), rng.Uint64()))
	}
	for i := range spec.Hosts {
		f.addHost(i, rng.Uint64())
	}
	f.route()
	for i := range f.Hosts {
		for j := range i {
			var psk handshake.PSK
			net.Bytes(rng).Read(psk[:])
			f.introduce(i, j, psk)
			f.introduce(j, i, psk)
		}
	}
	return f
}

// hostAddr returns a host's address on a rail.
func hostAddr(host, rail int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(host), byte(rail), 1})
}
func publicAddr(host, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{100, 64, byte(host), byte(n)})
}
func tapAddr(host int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(host)}) }

// nowhereAddr returns an unreachable address of a host.
func nowhereAddr(host int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, byte(host)}) }

// addr maps an IPv4 address to an address of the network. The mapped address is the same, or in an
// IPv6 network an address below the documentation prefix (RFC 3849).
func (f *Fabric) addr(a netip.Addr) netip.Addr {
	if !f.spec.V6 {
		return a
	}
	b := [16]byte{0x20, 0x01, 0x0d, 0xb8}
	copy(b[12:], a.AsSlice())
	return netip.AddrFrom16(b)
}

// publicAddrs is the number of public addresses that a translator owns.
const publicAddrs = 3

func (f *Fabric) rails() int {
	if f.spec.Rails {
		return f.spec.Spines
	}
	return 1
}

// addHost creates host i, its leaf switch, and the nodes between these two.
func (f *Fabric) addHost(i int, hash uint64) {
	e, cfg := f.Engine, f.spec.Hosts[i]
	cfg.Addrs = nil
	for r := range f.rails() {
		cfg.Addrs = append(cfg.Addrs, f.addr(hostAddr(i, r)))
	}
	h := host.New(e, fmt.Sprintf("host%d", i), i, cfg, f.Audit)
	leaf := e.NewSwitch(fmt.Sprintf("leaf%d", i), hash)
	tap := foe.NewTap(e, fmt.Sprintf("tap%d", i), f.addr(tapAddr(i)), h, leaf)
	h.Up = tap.Out(leaf)
	var nat *net.NAT
	if f.spec.NAT[i] {
		var public []netip.Addr
		for n := range publicAddrs {
			public = append(public, f.addr(publicAddr(i, n)))
		}
		nat = e.NewNAT(fmt.Sprintf("nat%d", i), public, h, tap.Out(leaf))
		tap.To, h.Up = nat, nat.Behind()
	}
	f.Hosts, f.Leaves = append(f.Hosts, h), append(f.Leaves, leaf)
	f.Taps, f.NATs = append(f.Taps, tap), append(f.NATs, nat)
	f.ground.Places = append(f.ground.Places, &foe.Place{Host: h, Leaf: leaf, Tap: tap, Hidden: nat != nil, Passive: f.spec.Passive[i]})
	var cables []*net.Cable
	for k, spine := range f.Spines {
		q := f.spec.Cables[i][k]
		cables = append(cables, e.NewCable(fmt.Sprintf("cable%d.%d", i, k), q[0], q[1], leaf, spine))
	}
	f.Cables = append(f.Cables, cables)
}

// route adds routes to all hosts to the switches.
func (f *Fabric) route() {
	for i, leaf := range f.Leaves {
		for j := range f.Hosts {
			leaf.Route(f.addr(tapAddr(j)), f.Taps[j].Own())
		}
		for _, a := range f.addrs(i) {
			leaf.Route(a, f.Taps[i])
			for k, spine := range f.Spines {
				spine.Route(a, f.Cables[i][k].Back)
			}
		}
		if !f.spec.Rails {
			for k := range f.Spines {
				leaf.Default = append(leaf.Default, f.Cables[i][k].Out)
			}
			continue
		}
		for j := range f.Hosts {
			for r, a := range f.addrs(j) {
				if j != i {
					leaf.Route(a, f.Cables[i][r%len(f.Spines)].Out)
				}
			}
		}
	}
}

// addrs returns the addresses at which other hosts see host i.
func (f *Fabric) addrs(i int) []netip.Addr {
	if f.NATs[i] != nil {
		return f.NATs[i].Public
	}
	return f.Hosts[i].Addrs
}

// introduce adds host j as a peer to the configuration of host i.
func (f *Fabric) introduce(i, j int, psk handshake.PSK) {
	r := host.Remote{Host: f.Hosts[j], PSK: psk}
	if !f.spec.Passive[i] && f.NATs[j] == nil {
		for _, a := range f.Hosts[j].Addrs {
			r.Addrs = append(r.Addrs, netip.AddrPortFrom(a, host.FirstPort))
		}
		if f.spec.Nowhere {
			r.Addrs = append(r.Addrs, netip.AddrPortFrom(f.addr(nowhereAddr(j)), host.FirstPort))
		}
	}
	f.Hosts[i].Peer(r)
}

// Links returns all links, in a fixed order.
func (f *Fabric) Links() []*net.Link {
	var v []*net.Link
	for _, cables := range f.Cables {
		for _, c := range cables {
			v = append(v, c.Out, c.Back)
		}
	}
	return v
}

// Peers returns the connections between all running programs, in a fixed order.
func (f *Fabric) Peers() (v []*host.Peer) { return f.peers(false) }

// peers returns the connections of all running programs, including those to a liar.
func (f *Fabric) peers(liars bool) (v []*host.Peer) {
	for _, h := range f.Hosts {
		if h.Process() == nil {
			continue
		}
		for _, p := range h.Process().Peers {
			if p.Lies() == liars {
				v = append(v, p)
			}
		}
	}
	return v
}
