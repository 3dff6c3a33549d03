package tunnel

import (
	"errors"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Inner4 returns the IPv4 address of node i inside the tunnel, counted from 1: 10.9.0.<i>.
func Inner4(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 0, byte(i)}) }

// Inner6 returns the IPv6 address of node i inside the tunnel, counted from 1: fd09::<i>.
func Inner6(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x09, 15: byte(i)})
}

// innerConfig adds the tunnel addresses of node i to c.
func innerConfig(c Config, i int) Config {
	c.Address = []netip.Prefix{netip.PrefixFrom(Inner4(i), 24), netip.PrefixFrom(Inner6(i), 64)}
	return c
}

// allowed returns the allowed IPs of node i.
func allowed(i int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(Inner4(i), 32), netip.PrefixFrom(Inner6(i), 128)}
}

// Pair holds two nodes that are each other's peers.
type Pair struct {
	A, B *Node // node 1 and node 2
}

// NewPair starts daemons on the hosts A and B, and waits until they reach each other. The
// settings in c apply to both daemons. If outer6 is true, the outer packets use the IPv6
// addresses of the hosts.
func NewPair(bin string, a, b *fabric.Host, c Config, outer6 bool) (*Pair, error) {
	return newPair(bin, a, b, c, endpoints(a, outer6), endpoints(b, outer6))
}

// NewPassivePair is like NewPair, but node B has no endpoint of A, and waits for A's handshake.
// If keepalive is not 0, node A sends keepalives.
func NewPassivePair(bin string, a, b *fabric.Host, keepalive time.Duration) (*Pair, error) {
	p, err := pairOf(bin, a, b, Config{}, nil, endpoints(b, false))
	if err != nil {
		return p, err
	}
	p.A.Config.Peers[0].Keepalive = keepalive
	return p, p.start()
}

func newPair(bin string, a, b *fabric.Host, c Config, atA, atB []netip.AddrPort) (*Pair, error) {
	p, err := pairOf(bin, a, b, c, atA, atB)
	if err != nil {
		return p, err
	}
	return p, p.start()
}

// pairOf returns a Pair whose daemons do not run yet.
func pairOf(bin string, a, b *fabric.Host, c Config, atA, atB []netip.AddrPort) (*Pair, error) {
	p := &Pair{}
	var err error
	if p.A, err = NewNode(bin, a, c.Tag+"a", innerConfig(c, 1)); err != nil {
		return nil, err
	}
	if p.B, err = NewNode(bin, b, c.Tag+"b", innerConfig(c, 2)); err != nil {
		return nil, err
	}
	p.A.Config.Peers = []Peer{{Name: "b", PublicKey: p.B.PublicKey, Endpoints: atB, AllowedIPs: allowed(2)}}
	p.B.Config.Peers = []Peer{{Name: "a", PublicKey: p.A.PublicKey, Endpoints: atA, AllowedIPs: allowed(1)}}
	return p, nil
}

func (p *Pair) start() error {
	for _, n := range []*Node{p.A, p.B} {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return errors.Join(p.A.Await(Inner4(2)), p.B.Await(Inner6(1)))
}

// endpoints returns all addresses of the host in the chosen family.
func endpoints(h *fabric.Host, v6 bool) []netip.AddrPort {
	addrs := h.V4
	if v6 {
		addrs = h.V6
	}
	var all []netip.AddrPort
	for _, a := range addrs {
		all = append(all, netip.AddrPortFrom(a, DefaultPort))
	}
	return all
}

// Report returns the reports of both nodes.
func (p *Pair) Report() string { return p.A.Report() + p.B.Report() }

// Close ends both nodes of the pair.
func (p *Pair) Close() error { return errors.Join(p.A.Close(), p.B.Close()) }

// newNodes makes a node for each host, numbered from 1. The new nodes have no peers yet.
func newNodes(bin string, c Config, hosts []*fabric.Host) (nodes []*Node, err error) {
	for i, h := range hosts {
		n, err := NewNode(bin, h, string(rune('a'+i)), innerConfig(c, i+1))
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// NewStar starts a hub on the first host (node 1), and a spoke on each other host (nodes 2 and
// up). The spokes send all inner traffic to the hub.
func NewStar(bin string, hub *fabric.Host, spokes ...*fabric.Host) ([]*Node, error) {
	return NewStarOf(bin, Config{}, hub, spokes...)
}

// NewStarOf is NewStar with settings for all nodes.
func NewStarOf(bin string, c Config, hub *fabric.Host, spokes ...*fabric.Host) ([]*Node, error) {
	nodes, err := newNodes(bin, c, append([]*fabric.Host{hub}, spokes...))
	if err != nil {
		return nodes, err
	}
	for i, n := range nodes[1:] {
		nodes[0].Config.Peers = append(nodes[0].Config.Peers, Peer{
			Name: n.Host.Name, PublicKey: n.PublicKey, Endpoints: endpoints(n.Host, false), AllowedIPs: allowed(i + 2),
		})
		n.Config.Peers = []Peer{{Name: "hub", PublicKey: nodes[0].PublicKey, Endpoints: endpoints(hub, false), AllowedIPs: []netip.Prefix{
			netip.PrefixFrom(Inner4(0), 24), netip.PrefixFrom(Inner6(0), 64),
		}}}
	}
	for _, n := range nodes {
		if err := n.Start(); err != nil {
			return nodes, err
		}
	}
	for _, n := range nodes[1:] {
		if err := n.Await(Inner4(1)); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}
