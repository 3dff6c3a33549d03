package lab

import (
	"fmt"

	"github.com/srdtun/srdtun/sim/net"
)

// AddGates gives each leaf a machine of its own, for the leaf switch's own work. Its packets
// take neither time nor room on the way to and from the switch. Servers have the first
// numbers. Leaf i's machine has i plus the number of servers.
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

// machine returns host i, or the machine of a leaf.
func (n *Network) machine(i int) *Host {
	if i < len(n.Hosts) {
		return n.Hosts[i]
	}
	return n.gates[i-len(n.Hosts)]
}

// machines returns the number of hosts and leaf machines together.
func (n *Network) machines() int { return len(n.Hosts) + len(n.gates) }

// leafOf returns all machines below a leaf, its own included.
func (n *Network) leafOf(i int) []*Host {
	v := n.below(0, i)
	if n.gates != nil {
		v = append(v[:len(v):len(v)], n.gates[i])
	}
	return v
}
