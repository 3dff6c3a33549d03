package e2e

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// Two files of a host have the same private key. If both interfaces call a peer at the same address,
// the peer keeps only the latest session, and both lose packets. So "up" of the second refuses, and
// "check" foresees it. If the peers or the addresses differ, both interfaces can work.
func TestOneKeyInTwoFiles(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir, run := configDir(t, f.A(1))
	p := pair(t, f, tunnel.Config{})
	a, other := p.A, node(t, f.B(1), "o", tunnel.Config{})
	second := func(change func(*tunnel.Peer)) string {
		c := a.Config
		c.ListenPort, c.Address, c.Extra = tunnel.DefaultPort+1, []netip.Prefix{netip.MustParsePrefix("10.9.7.1/24")}, "name = \""+a.Name+"2\"\n"
		c.Peers = []tunnel.Peer{a.Config.Peers[0]}
		c.Peers[0].AllowedIPs = []netip.Prefix{netip.MustParsePrefix("10.9.7.2/32")}
		change(&c.Peers[0])
		file := filepath.Join(dir, "b.toml")
		must(t, os.WriteFile(file, c.TOML(), 0o600))
		return file
	}
	said := func(what, out string, want ...string) {
		t.Helper()
		for _, w := range want {
			wants(t, what, out, w)
		}
		if strings.Contains(out, a.Config.PrivateKey) || len(want) == 0 && strings.Contains(out, "private_key") {
			t.Errorf("%s says %s", what, out)
		}
	}
	end := func() { _ = run("down", a.Name+"2") }
	t.Cleanup(end)

	file := second(func(*tunnel.Peer) {})
	at := a.Config.Peers[0].Endpoints[0].String()
	why := a.Name + " (" + a.File + ") has the same private key, and both call peer b at " + at + ", which answers only the latest caller"
	said("check", run("check", "b"), file+":2: interface.private_key: the start would fail now: "+why, "b.toml: ok")
	for _, c := range [][]string{{"up", "-d", "b"}, {"up", file}} {
		said("up", run(c...), "srdtun: "+file+":2: interface.private_key: "+why, "exit code 1")
	}
	if out, err := f.A(1).Run("ping", "-n", "-q", "-c20", "-i0.05", "-W1", tunnel.Inner4(2).String()); err != nil || !strings.Contains(out, " 0% packet loss") {
		t.Errorf("the first interface: %v: %s", err, out)
	}

	second(func(p *tunnel.Peer) { p.Endpoints = []netip.AddrPort{netip.AddrPortFrom(f.B(1).Addr4(), 4444)} })
	same := a.Name + " (" + a.File + ") has the same private key and the same peer, b: "
	said("check", run("check", "b"), same)
	said("up", run("up", "-d", "b"), same)
	said("doctor", run("doctor"), same)
	end()

	second(func(p *tunnel.Peer) { p.PublicKey = other.PublicKey })
	said("check", run("check", "b"))
	said("up", run("up", "-d", "b"))
	said("doctor", run("doctor"))
	end()

	// Of two files, neither of which runs.
	file = second(func(*tunnel.Peer) {})
	must(t, a.Stop())
	text, err := os.ReadFile(a.File)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a.toml"), text, 0o600))
	said("check", run("check", "b"), file+":2: interface.private_key: "+dir+"/a.toml has the same private key, and both call peer b at "+at, "only one of the interfaces can be up; ")
}
