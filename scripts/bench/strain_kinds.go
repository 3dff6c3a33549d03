package main

import (
	"errors"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// The kinds as they are between several hosts and one.
var (
	mptcpStar     = kind{mptcp.name, mptcp.title, startMPTCPStar}
	wireguardStar = kind{wireguardGo.name, wireguardGo.title, startWireguardStar}
	srdtunStar    = kind{srdtun.name, srdtun.title, startSrdtunStar}
)

func startMPTCPStar(b *bench, s *site) (*link, error) {
	l, err := startMPTCP(b, s)
	for _, h := range s.senders()[1:] {
		err = firstError(err, tellSender(h))
	}
	return l, err
}

// tellSender tells the kernel of a sender of all its addresses.
func tellSender(h *fabric.Host) error {
	_, err := h.Run("ip", "mptcp", "limits", "set", "subflows", mptcpSubflows, "add_addr_accepted", mptcpSubflows)
	for _, a := range h.V4[1:] {
		_, e := h.Run("ip", "mptcp", "endpoint", "add", a.String(), "dev", "eth0", "subflow", "fullmesh")
		err = firstError(err, e)
	}
	return err
}

func startWireguardStar(b *bench, s *site) (*link, error) {
	hub := &wireguardEnd{host: s.b, dev: fabric.TunnelName("a"), inner: innerA}
	ends := []*wireguardEnd{hub}
	for i, h := range s.senders() {
		ends = append(ends, &wireguardEnd{host: h, dev: fabric.TunnelName(string(rune('b' + i))), inner: tunnel.Inner4(i + 2)})
	}
	d := &daemons{}
	l := &link{to: innerA, dev: hub.dev, close: d.close}
	for _, e := range ends {
		if err := e.start(b, d, b.tools.wireguard); err != nil {
			return l, err
		}
		l.pids = append(l.pids, e.daemon.Pid())
	}
	if err := hub.configure(ends[1]); err != nil {
		return l, err
	}
	for _, e := range ends[2:] {
		if _, err := hub.host.Run("wg", "set", hub.dev, "peer", e.public, "allowed-ips", e.inner.String()+"/32"); err != nil {
			return l, err
		}
	}
	for _, e := range ends[1:] {
		if err := firstError(e.configure(hub), reach(e.host, innerA)); err != nil {
			return l, err
		}
	}
	return l, nil
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
