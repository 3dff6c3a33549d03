package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/steer"
)

// maker creates the transport of one kind for a run.
type maker func(*Network, *TransportPlan, *HostModel) (Transport, error)

// makers maps the kinds of transports in plans to functions that create them.
var makers = map[string]maker{
	"srd": func(n *Network, p *TransportPlan, on *HostModel) (Transport, error) {
		return NewSRD(n, srdOf(p, on))
	},
	// The kind "tunnel" is TCP inside srdtun.
	"tunnel": func(n *Network, p *TransportPlan, on *HostModel) (Transport, error) {
		return NewTunnel(n, srdOf(p, on), tcpOf(p))
	},
	// The kind "datagrams" sends datagrams inside srdtun at a constant rate.
	"datagrams": func(n *Network, p *TransportPlan, on *HostModel) (Transport, error) {
		return NewDatagrams(n, srdOf(p, on), tcpOf(p), DatagramConfig{Packet: p.Packet, Every: p.Every.Duration, From: p.From.Duration, Split: p.Split.Duration, Bulk: p.Bulk})
	},
	// The kind "edge" is TCP in tunnels between leaf switches. The servers themselves use plain
	// TCP.
	"edge": func(n *Network, p *TransportPlan, on *HostModel) (Transport, error) {
		return NewEdge(n, srdOf(p, on), tcpOf(p))
	},
	// The kind "tcp" is CUBIC as in Linux, with RACK and tail probes, or MPTCP as in upstream
	// Linux. If the plan names a policy, the leaf switches choose uplinks by it.
	"tcp": func(n *Network, p *TransportPlan, _ *HostModel) (Transport, error) {
		c := tcpOf(p)
		c.HyStart = p.HyStart
		var err error
		if p.Policy != "" {
			err = n.Balance(LeafConfig{Policy: p.Policy, Timeout: p.FlowletTimeout.Duration, Local: p.Local, Saw: p.Saw})
		}
		return NewTCP(n, c), err
	},
}

// srdOf returns the srd configuration of a transport in a plan. If the hosts are processes, the
// configuration is the daemon's (overlay/daemon/peer.go). The daemon's configuration has the
// default granularity (mono.Granularity).
func srdOf(p *TransportPlan, on *HostModel) SRDConfig {
	c := SRDConfig{
		Ports: p.Ports, MTU: p.MTU, Granularity: p.Granularity.Duration, Policy: p.Policy,
		FlowletTimeout: p.FlowletTimeout.Duration, LinkRate: p.LinkGbit * 1e9 / 8, Unordered: p.Unordered, AtOnce: p.AtOnce, Watch: p.Watch,
		Host: on,
	}
	if on != Ideal {
		c.Granularity = 0
	}
	return c
}

// These constants bound a transport's settings in a plan. leastMTU is the size of srd's smallest
// full packet, and mostMTU is that of a jumbo frame.
const (
	leastMTU = 1280
	mostMTU  = 9000
)

func (t *TransportPlan) check() error {
	_, known := makers[t.Kind]
	switch {
	case !known:
		return fmt.Errorf("kind %q is not known", t.Kind)
	case t.MTU < leastMTU || t.MTU > mostMTU:
		return fmt.Errorf("mtu %d, want %d to %d", t.MTU, leastMTU, mostMTU)
	case t.Kind != "tcp" && (t.Ports < 1 || t.Ports > steer.MaxPaths):
		return fmt.Errorf("ports %d, want 1 to %d", t.Ports, steer.MaxPaths)
	case t.Policy != "" && !slices.Contains(steer.Names(), t.Policy):
		return fmt.Errorf("policy %q is not known", t.Policy)
	case t.FlowletTimeout.Duration < 0 || t.FlowletTimeout.Duration > time.Second:
		return fmt.Errorf("flowlet_timeout %v, want 0 to 1s", t.FlowletTimeout)
	case !(t.LinkGbit >= 0):
		return fmt.Errorf("link_gbit %v, want 0 or more", t.LinkGbit)
	case algorithms[t.Algorithm] == nil:
		return fmt.Errorf("algorithm %q is not known, want cubic, linux, reno or dctcp", t.Algorithm)
	case t.Subflows < 0 || t.Subflows > mostSubflows:
		return fmt.Errorf("subflows %d, want at most %d", t.Subflows, mostSubflows)
	case t.MinRTO.Duration != 0 && t.MinRTO.Duration < leastRTO:
		return fmt.Errorf("min_rto %v, want %v at least", t.MinRTO, leastRTO)
	case t.Kind == "datagrams" && (t.Packet < innerLeast || t.Packet > t.MTU-innerLess || t.Every.Duration <= 0 || t.From.Duration < 0 || t.Split.Duration < 0):
		return fmt.Errorf("packets of %d bytes every %v, from %v on", t.Packet, t.Every, t.From)
	case t.Granularity.Duration < 0 || t.Granularity.Duration > time.Second:
		return fmt.Errorf("granularity %v, want 0 to 1s", t.Granularity)
	}
	return nil
}
