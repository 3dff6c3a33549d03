package rivals

import (
	"errors"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// These transports connect several senders to one host.
var (
	mptcpStar     = kind{mptcp.name, mptcp.title, startMPTCPStar}
	wireguardStar = kind{wireguardGo.name, wireguardGo.title, startWireguardStar}
	srdtunStar    = kind{srdtun.name, srdtun.title, startSrdtunStar}
)

func startMPTCPStar(b *bench, s *site) (*link, error) {
	l, err := startMPTCP(b, s)
	for _, h := range s.senders()[1:] {
		err = firstError(err, h.EnableMPTCP(nil, h.V4[1:]))
	}
	return l, err
}

func startSrdtunStar(b *bench, s *site) (*link, error) {
	var spokes []*fabric.Host
	for _, h := range s.senders() {
		spokes = append(spokes, oneAddress(h))
	}
	nodes, err := tunnel.NewStar(b.srdtun, oneAddress(s.b), spokes...)
	l := &link{to: innerA}
	l.close = func() error {
		var all []error
		for _, n := range nodes {
			all = append(all, n.Close())
		}
		return errors.Join(all...)
	}
	if err != nil {
		return l, err
	}
	l.dev = nodes[0].Name
	for _, n := range nodes {
		l.pids = append(l.pids, n.Pid())
	}
	return l, nil
}
