package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/srdtun/srdtun/e2e/fabric"
)

var (
	wireguardGo = kind{"wireguard-go", "wireguard-go", func(b *bench, s *site) (*link, error) {
		return startWireguard(b, s, b.tools.wireguard)
	}}
	wireguardTS = kind{"wireguard-ts", "Tailscale's fork", func(b *bench, s *site) (*link, error) {
		return startWireguard(b, s, b.tools.wireguardTS)
	}}
)

// wireguardMTU is the MTU that wg-quick gives a tunnel over Ethernet.
const wireguardMTU = "1420"

// wireguardRun is where wireguard-go makes its control sockets, named after the
// interfaces and so the same for all namespaces.
const wireguardRun = "/var/run/wireguard"

// wireguardEnd is one of the two ends.
type wireguardEnd struct {
	host       *fabric.Host
	dev        string
	inner      netip.Addr
	keyFile    string
	public     string
	daemon     *fabric.Process
	socketPath string
}

// startWireguard runs a program with the command line and the sockets of wireguard-go.
func startWireguard(b *bench, s *site, program string) (*link, error) {
	ends := []*wireguardEnd{{host: s.a, dev: fabric.TunnelName("a"), inner: innerA}, {host: s.b, dev: fabric.TunnelName("b"), inner: innerB}}
	l := &link{to: innerB, dev: ends[1].dev}
	d := &daemons{}
	l.close = d.close
	for _, e := range ends {
		if err := e.start(b, d, program); err != nil {
			return l, err
		}
		l.pids = append(l.pids, e.daemon.Pid())
	}
	for i, e := range ends {
		if err := e.configure(ends[1-i]); err != nil {
			return l, fmt.Errorf("%w\n%s", err, e.daemon.Log.String())
		}
	}
	return l, reach(s.a, innerB)
}

// start runs the daemon, which makes the interface, and draws its key.
func (e *wireguardEnd) start(b *bench, d *daemons, program string) (err error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	e.public = base64.StdEncoding.EncodeToString(key.PublicKey().Bytes())
	e.keyFile = filepath.Join(b.scratch, e.dev+".key")
	if err := os.WriteFile(e.keyFile, []byte(base64.StdEncoding.EncodeToString(key.Bytes())+"\n"), 0o600); err != nil {
		return err
	}
	e.socketPath = filepath.Join(wireguardRun, e.dev+".sock")
	d.files = append(d.files, e.keyFile, e.socketPath)
	if e.daemon, err = e.host.StartWith(nil, []string{"LOG_LEVEL=error"}, program, "-f", e.dev); err != nil {
		return err
	}
	d.running = append(d.running, e.daemon)
	return awaitFile(e.daemon, e.socketPath)
}

func (e *wireguardEnd) configure(far *wireguardEnd) error {
	const port = "51820"
	for _, cmd := range [][]string{
		{"wg", "set", e.dev, "listen-port", port, "private-key", e.keyFile, "peer", far.public,
			"endpoint", far.host.Addr4().String() + ":" + port, "allowed-ips", far.inner.String() + "/32"},
		{"ip", "addr", "add", e.inner.String() + "/24", "dev", e.dev},
		{"ip", "link", "set", e.dev, "mtu", wireguardMTU, "up"},
	} {
		if _, err := e.host.Run(cmd[0], cmd[1:]...); err != nil {
			return err
		}
	}
	return nil
}
