package lab

import (
	"fmt"
	"net/netip"

	"github.com/srdtun/srdtun/lab/tcp"
	"github.com/srdtun/srdtun/sim/net"
)

// Edge is a transport in which leaf switches use tunnels, and servers use plain TCP. Each leaf
// switch has a tunnel to each other leaf, as in CONGA (section 3.1). Packets between a server and
// its leaf, and between servers of one leaf, are not encapsulated.
type Edge struct {
	*Tunnel
	leaves []*edgeLeaf
	nics   []*tcp.NIC
	up     []*net.Link // link from each server to its leaf
	down   []*net.Link // link to each server from its leaf
	server []*edgeServer
}

// edgeLeaf forwards the packets of the servers below a leaf. Each end of a connection has its own
// port below the leaf, so the source address identifies the connection.
type edgeLeaf struct{ next map[netip.AddrPort]net.Node } // receiving node, by source address

// Receive implements net.Node.
func (l *edgeLeaf) Receive(p *net.Packet) { l.next[p.Src].Receive(p) }

// edgeServer delivers packets to a server's connections by destination port.
type edgeServer struct{ conns map[uint16]net.Node }

// Receive implements net.Node.
func (s *edgeServer) Receive(p *net.Packet) { s.conns[p.Dst.Port()].Receive(p) }

// NewEdge returns the edge transport for a network of two tiers. NewEdge adds a host for each leaf
// to the network.
func NewEdge(n *Network, cfg SRDConfig, inner TCPConfig) (*Edge, error) {
	if err := n.AddGates(); err != nil {
		return nil, err
	}
	tunnel, err := NewTunnel(n, cfg, inner)
	if err != nil {
		return nil, err
	}
	t := &Edge{Tunnel: tunnel}
	for range n.gates {
		t.leaves = append(t.leaves, &edgeLeaf{map[netip.AddrPort]net.Node{}})
	}
	for i, h := range n.Hosts {
		s := &edgeServer{map[uint16]net.Node{}}
		t.server = append(t.server, s)
		t.nics = append(t.nics, tcp.NewNIC(n.Engine, h.Up.Rate))
		t.up = append(t.up, n.Engine.NewLink(fmt.Sprintf("s%d>", i), h.Up.Quality, t.leaves[t.leaf(i)]))
		t.down = append(t.down, n.Engine.NewLink(fmt.Sprintf("s%d<", i), n.quality(0), s))
	}
	return t, nil
}

func (t *Edge) leaf(server int) int { return server / t.net.Topology.Tiers[0].Down }

// Open implements Transport.
func (t *Edge) Open(f *Flow) error {
	from, to := t.leaf(f.Src), t.leaf(f.Dst)
	first := len(t.net.Hosts)
	local := netip.AddrPortFrom(t.net.Hosts[f.Src].Addr, t.net.machine(first+from).Port().Port())
	remote := netip.AddrPortFrom(t.net.Hosts[f.Dst].Addr, t.net.machine(first+to).Port().Port())
	t.leaves[from].next[local], t.leaves[to].next[remote] = t.down[f.Dst], t.down[f.Src]
	if from != to {
		end, err := t.between(first+from, first+to)
		if err != nil {
			return err
		}
		a, b := t.overlay(end), t.overlay(end.peer)
		a.conns[local.Port()], b.conns[remote.Port()] = t.down[f.Src], t.down[f.Dst]
		t.leaves[from].next[local], t.leaves[to].next[remote] = a, b
	}
	out, back := t.config(f), t.config(f)
	out.NIC, back.NIC = t.nics[f.Src], t.nics[f.Dst]
	x := tcp.NewConn(t.net.Engine, out, t.up[f.Src], local, remote)
	y := tcp.NewConn(t.net.Engine, back, t.up[f.Dst], remote, local)
	t.server[f.Src].conns[local.Port()], t.server[f.Dst].conns[remote.Port()] = x, y
	t.join(f, x, y)
	return nil
}

// Stats implements Transport.
func (t *Edge) Stats() Stats {
	s := t.Tunnel.Stats()
	for i := range t.up {
		s.Inner.Dropped += t.up[i].Drops[net.LinkQueue] + t.down[i].Drops[net.LinkQueue]
	}
	return s
}
