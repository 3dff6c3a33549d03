package rivals

import (
	"fmt"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/wireguard"
)

var (
	wireguardGo = kind{"wireguard-go", "wireguard-go", func(b *bench, s *site) (*link, error) {
		return startWireguard(b, s, b.tools.wireguard)
	}}
	wireguardTS = kind{"wireguard-ts", "Tailscale's fork", func(b *bench, s *site) (*link, error) {
		return startWireguard(b, s, b.tools.wireguardTS)
	}}
)

func startWireguard(b *bench, s *site, program string) (*link, error) {
	l, nodes, err := linkWireguard(b, program, s.a, s.b)
	if err != nil {
		return l, err
	}
	l.to, l.dev = innerB, nodes[1].Interface
	return l, reach(s.a, innerB)
}

func startWireguardStar(b *bench, s *site) (*link, error) {
	l, nodes, err := linkWireguard(b, b.tools.wireguard, s.b, s.senders()...)
	if err != nil {
		return l, err
	}
	l.to, l.dev = innerA, nodes[0].Interface
	for _, n := range nodes[1:] {
		if err := reach(n.Host, innerA); err != nil {
			return l, fmt.Errorf("%w\n%s", err, n.Log())
		}
	}
	return l, nil
}

// linkWireguard connects a hub and its spokes by WireGuard tunnels.
func linkWireguard(b *bench, program string, hub *fabric.Host, spokes ...*fabric.Host) (*link, []*wireguard.Node, error) {
	nodes, err := wireguard.Star(program, b.scratch, hub, spokes...)
	l := &link{close: func() error { return wireguard.Close(nodes) }}
	if err != nil {
		return l, nil, err
	}
	for _, n := range nodes {
		l.pids = append(l.pids, n.Pid())
	}
	return l, nodes, nil
}
