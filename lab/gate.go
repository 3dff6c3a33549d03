package lab

import (
	"fmt"

	"github.com/srdtun/srdtun/sim/net"
)

// AddGates adds a host to each leaf switch, for the tunnel that ends in the switch. Packets between
// this host and its switch have no delay and take no queue space. The host of leaf i has the number
// i plus the number of servers.
func (n *Network) AddGates() error {
	if n.Topology == nil || len(n.Topology.Tiers) != 2 {
		return fmt.Errorf("leaves with machines of their own need a network of two tiers")
	}
	for i, leaf := range n.tiers[0] {
		index := len(n.Hosts) + i
		g := newHost(n.Engine, index, address(index))
		q := net.Quality{Queue: nicQueue}
		g.Up = n.Engine.NewLink(fmt.Sprintf("g%d>", i), q, leaf)
		leaf.Route(g.Addr, n.Engine.NewLink(fmt.Sprintf("g%d<", i), q, g))
		n.gates = append(n.gates, g)
	}
	for _, c := range n.Cables[1] {
		n.tiers[1][c.upper].Route(n.gates[c.lower].Addr, c.Down)
	}
	return nil
}

// machine returns the host with number i, which may be a leaf's host.
func (n *Network) machine(i int) *Host {
	if i < len(n.Hosts) {
		return n.Hosts[i]
	}
	return n.gates[i-len(n.Hosts)]
}

// machines returns the total number of servers and leaf hosts.
func (n *Network) machines() int { return len(n.Hosts) + len(n.gates) }

// leafOf returns all hosts below a leaf, including the host on the leaf itself.
func (n *Network) leafOf(i int) []*Host {
	v := n.below(0, i)
	if n.gates != nil {
		v = append(v[:len(v):len(v)], n.gates[i])
	}
	return v
}
