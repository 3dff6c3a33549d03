package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/steer"
)

// LeafConfig is the configuration of leaf switches that choose uplinks by a path policy of this
// project, for servers with plain TCP. CONGA's and LetFlow's switches act in this way. The switches
// know the rate of their links. If Ports.Tell is set, links write their load into packets.
type LeafConfig struct {
	Policy  string        // name of a policy in package steer
	Timeout time.Duration // flowlet timeout; 0: the policy's default
	// If Local is set, a leaf uses only its own metrics, and none of other leaves.
	Local bool
	// Saw, if set, is called for each packet that a leaf sends to an uplink.
	Saw func(at time.Duration, flow uint32, bytes int)
}

// leaf is a leaf switch that chooses the uplinks of its packets.
type leaf struct {
	cfg     *LeafConfig
	net     *Network
	number  int
	uplinks []net.Node
	peers   []*leafPeer // state for each other leaf
}

// leafPeer is a leaf's state for one other leaf: the policy for sending to it, and the metrics of
// packets from it.
type leafPeer struct {
	policy steer.Policy
	gauge  steer.Gauge
}

// leafTarget is the target queueing delay for those leaf policies that need one.
const leafTarget = 50 * time.Microsecond

// Balance makes the leaf switches of a network of two tiers choose uplinks.
func (n *Network) Balance(cfg LeafConfig) error {
	if n.Topology == nil || len(n.Topology.Tiers) != 2 {
		return fmt.Errorf("leaf switches with a policy need a network of two tiers")
	}
	seeds := n.Engine.Fork()
	for i, s := range n.tiers[0] {
		l := &leaf{cfg: &cfg, net: n, number: i, uplinks: slices.Clone(s.Default)}
		for range n.tiers[0] {
			p, err := steer.New(cfg.Policy, steer.Options{
				Seed: seeds.Uint64(), FlowletTimeout: cfg.Timeout, LinkRate: n.Topology.Tiers[1].Rate,
			})
			if err != nil {
				return err
			}
			l.peers = append(l.peers, &leafPeer{policy: p})
		}
		s.Choose = l.choose
	}
	return nil
}

// leafAt returns the leaf above a server.
func (n *Network) leafAt(a netip.AddrPort) int {
	b := a.Addr().As4()
	return (int(b[1])<<8 | int(b[2])) / n.Topology.Tiers[0].Down
}

// choose returns the next hop of a packet (CONGA, section 3.3). A packet to another leaf is given
// the number of its uplink, and one metric that this leaf has measured for that leaf. From a packet
// of another leaf, this leaf learns the metric of the packet's uplink.
func (l *leaf) choose(p *net.Packet, next []net.Node) net.Node {
	from, to := l.net.leafAt(p.Src), l.net.leafAt(p.Dst)
	now := l.net.Engine.Now()
	switch {
	case from == to:
		return next[0]
	case to == l.number:
		l.arrived(p, l.peers[from])
		return next[0]
	}
	peer := l.peers[to]
	var usable steer.Set
	for i, up := range l.uplinks {
		if slices.Contains(next, up) {
			usable.Add(i)
		}
	}
	flow := uint32(p.Hash(0))
	path := peer.policy.Pick(now, &usable, steer.Context{Target: leafTarget, Flow: flow, Bytes: p.Size})
	for _, other := range l.peers {
		if s, ok := other.policy.(steer.Sender); ok {
			s.Sent(now, path, flow, p.Size)
		}
	}
	if l.cfg.Saw != nil {
		l.cfg.Saw(l.net.Engine.Since(), flow, p.Size)
	}
	p.Load, p.Leaf = 0, net.LeafTag{Path: uint8(path) + 1}
	if back, metric, ok := peer.gauge.Feedback(now); ok {
		p.Leaf.Told, p.Leaf.Metric = uint8(back)+1, metric
	}
	return l.uplinks[path]
}

// arrived records the metric of the path that a packet has taken, and the metric that the packet
// carries.
func (l *leaf) arrived(p *net.Packet, peer *leafPeer) {
	now, t := l.net.Engine.Now(), p.Leaf
	if r, ok := peer.policy.(steer.Remote); ok && t.Path > 0 && !l.cfg.Local {
		peer.gauge.Arrived(now, int(t.Path)-1, steer.Arrival{CE: p.CE, Stamped: true, Sent: now.Stamp()}, leafTarget)
		if p.Load > 0 {
			peer.gauge.Write(now, int(t.Path)-1, p.Load-1)
		}
		if t.Told > 0 {
			r.Reported(now, int(t.Told)-1, t.Metric)
		}
	}
}
