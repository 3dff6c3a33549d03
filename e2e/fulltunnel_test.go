package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// wideWorld is an address of both servers that is reachable only by a default route.
const wideWorld = "203.0.113.1"

// client is a tunnel that carries all traffic of A(1) to the client's own server.
type client struct {
	*tunnel.Node
	server *tunnel.Node
	inner  string // inner address of the server
}

// clientOf makes client number i, and starts only its server on B(i).
func clientOf(t *testing.T, f *fabric.Fabric, i int) client {
	t.Helper()
	return clientAt(t, f.A(1), f.B(i), i)
}

// clientAt makes client number i on one host, and starts only its server on another.
func clientAt(t *testing.T, at, server *fabric.Host, i int) client {
	t.Helper()
	inside := func(last int) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.8%d.0.%d/24", i, last))}
	}
	do(t, server, "ip addr replace "+wideWorld+"/32 dev lo")
	a := node(t, at, fmt.Sprintf("a%d", i), tunnel.Config{Address: inside(1), ListenPort: 41000 + i, SourcePorts: 4})
	b := node(t, server, fmt.Sprintf("b%d", i), tunnel.Config{Address: inside(2), ListenPort: tunnel.DefaultPort + i, SourcePorts: 4})
	a.Config.Peers = []tunnel.Peer{{Name: "server", PublicKey: b.PublicKey, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
		Endpoints: []netip.AddrPort{netip.AddrPortFrom(server.Addr4(), uint16(tunnel.DefaultPort+i))}}}
	b.Config.Peers = []tunnel.Peer{{Name: "client", PublicKey: a.PublicKey, AllowedIPs: []netip.Prefix{inside(1)[0].Masked()}}}
	must(t, b.Start())
	return client{a, b, fmt.Sprintf("10.8%d.0.2", i)}
}

func (c client) start(t *testing.T) {
	t.Helper()
	must(t, c.Start())
}

// answers reports whether an address answers pings of a host within some seconds.
func answers(h *fabric.Host, to string) bool {
	for range 10 {
		if _, err := h.Run("ping", "-n", "-c", "1", "-W", "1", to); err == nil {
			return true
		}
	}
	return false
}

// leads returns the interface that carries unmarked packets to an address.
func leads(t *testing.T, h *fabric.Host, to string) string {
	t.Helper()
	_, by, _ := strings.Cut(do(t, h, "ip route get "+to), " dev ")
	by, _, _ = strings.Cut(by, " ")
	return by
}

// TestTwoTunnelsWithDefaultRoutes starts two tunnels that take all traffic. Neither tunnel may
// carry the other's outer packets. The tunnel that started last carries all other traffic, and each
// daemon logs this.
func TestTwoTunnelsWithDefaultRoutes(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	first, second := clientOf(t, f, 1), clientOf(t, f, 2)
	host := f.A(1)
	first.start(t)
	if !answers(host, first.inner) || !answers(host, wideWorld) {
		t.Fatal("nothing passes the first one")
	}
	takes := second.Name + " takes the default route from " + first.Name + ": packets without a narrower route go through " + second.Name + " until it is taken down"
	must(t, os.WriteFile(second.File, second.Config.TOML(), 0o600))
	if out := do(t, host, "'"+bin+"' check '"+second.File+"' 2>&1"); !strings.Contains(out, "peer.allowed_ips: "+takes+" (warning)\n") {
		t.Errorf("check does not foresee the warning of the start: %s", out)
	}
	taken := says(t, first.Node, "default-taken: .* now go through "+second.Name+",")
	second.start(t)
	await(t, "line that says that the first one had the default route", func() bool {
		return strings.Contains(second.Log(), "host-setting: "+takes)
	})
	taken()
	for _, to := range []string{first.inner, second.inner, wideWorld} {
		if !answers(host, to) {
			t.Errorf("%s does not answer", to)
		}
	}
	if by := leads(t, host, wideWorld); by != second.Name {
		t.Errorf("all traffic goes through %s, want %s, which came last", by, second.Name)
	}
	// Each of the two tunnels may be restarted.
	must(t, first.Down())
	taken = says(t, second.Node, "default-taken: .* now go through "+first.Name+",")
	first.start(t)
	taken()
	for _, to := range []string{first.inner, second.inner, wideWorld} {
		if !answers(host, to) {
			t.Errorf("after a restart of the first one %s does not answer", to)
		}
	}
	if by := leads(t, host, wideWorld); by != first.Name {
		t.Errorf("all traffic goes through %s, want %s, which came last", by, first.Name)
	}
	back := says(t, second.Node, "default-back: .* through "+second.Name+" again")
	must(t, first.Down())
	back()
	if !answers(host, wideWorld) {
		t.Error("nothing passes the one that is left")
	}
	for _, c := range []client{first, second} {
		if strings.Contains(c.Log(), "routing-loop") {
			t.Errorf("%s tells of a loop that there is not", c.Name)
		}
	}
}

// wgQuick makes the changes of wg-quick(8) on A(1) for a file with 0.0.0.0/0 and this mark. A TUN
// device replaces the WireGuard device.
func wgQuick(t *testing.T, h *fabric.Host, name string, mark int) {
	t.Helper()
	do(t, h, fmt.Sprintf(`ip tuntap add %[1]s mode tun
		ip addr add 10.66.0.2/32 dev %[1]s
		ip link set mtu 1420 up dev %[1]s
		ip -4 rule add not fwmark %[2]d table %[2]d
		ip -4 rule add table main suppress_prefixlength 0
		ip -4 route add 0.0.0.0/0 dev %[1]s table %[2]d`, name, mark))
}

func wgQuickDown(t *testing.T, h *fabric.Host, name string, mark int) {
	t.Helper()
	do(t, h, fmt.Sprintf(`ip -4 rule del table %[2]d
		ip -4 rule del table main suppress_prefixlength 0
		ip link del %[1]s`, name, mark))
}

// wgQuickMark is the mark of wg-quick's first tunnel.
const wgQuickMark = 51820

// TestTunnelBesideWgQuick starts wg-quick's first tunnel and a srdtun tunnel, both for all traffic,
// in both orders. Both tunnels use the same mark, so neither carries the other's outer packets.
func TestTunnelBesideWgQuick(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	c := clientOf(t, f, 1)
	host := f.A(1)
	c.start(t)
	if out := do(t, host, fmt.Sprintf("ip -4 route show table %d 2>/dev/null || true", wgQuickMark)); out != "" {
		t.Fatalf("wg-quick would take another table and mark, as its own has %q", out)
	}
	taken, back := says(t, c.Node, "default-taken: .* now go through wgq0,"), says(t, c.Node, "default-back: ")
	wgQuick(t, host, "wgq0", wgQuickMark)
	taken()
	if !answers(host, c.inner) {
		t.Error("after wg-quick came up nothing passes")
	}
	if out := do(t, host, fmt.Sprintf("ip route get 198.51.100.1 mark %d", wgQuickMark)); !strings.Contains(out, "dev eth0") {
		t.Errorf("the outer packets of wg-quick's tunnel go %s", out)
	}
	wgQuickDown(t, host, "wgq0", wgQuickMark)
	back()
	must(t, c.Down())
	wgQuick(t, host, "wgq0", wgQuickMark)
	had := says(t, c.Node, "host-setting: .* takes the default route from wgq0")
	c.start(t)
	had()
	for _, to := range []string{c.inner, wideWorld} {
		if !answers(host, to) {
			t.Errorf("started after wg-quick %s does not answer", to)
		}
	}
	if out := do(t, host, fmt.Sprintf("ip route get 198.51.100.1 mark %d", wgQuickMark)); !strings.Contains(out, "dev eth0") {
		t.Errorf("the outer packets of wg-quick's tunnel go %s", out)
	}
	if strings.Contains(c.Log(), "routing-loop") {
		t.Error("it tells of a loop that there is not")
	}
}

// TestTunnelInsideAnother lets another tunnel take the outer packets, in each possible way.
// Meanwhile the log must name the other tunnel, unless the configuration file names it.
func TestTunnelInsideAnother(t *testing.T) {
	side(t)
	const mark = 4242
	f := network(t, fabric.Spec{})
	c := clientOf(t, f, 1)
	host := f.A(1)
	const loop = "routing-loop: peer server: packets to its endpoint "
	told := func() bool {
		_, text, ok := strings.Cut(c.Log(), loop)
		return ok && strings.Contains(text, " go into the tunnel wgq0, ")
	}
	for _, w := range []struct{ what, in, out string }{
		{"rules of another mark", "", ""},
		{
			"a default route of the main table",
			"ip route add default via " + gateway(host) + " metric 50; ip route replace default dev wgq0",
			"ip route replace default via " + gateway(host) + "; ip route del default via " + gateway(host) + " metric 50",
		},
		{"two halves of one, as OpenVPN makes them", "ip route add 0.0.0.0/1 dev wgq0; ip route add 128.0.0.0/1 dev wgq0", "ip route del 0.0.0.0/1 dev wgq0; ip route del 128.0.0.0/1 dev wgq0"},
		{"a rule alone", "ip route add default dev wgq0 table 77; ip rule add pref 90 table 77", "ip rule del pref 90; ip route del default dev wgq0 table 77"},
	} {
		c.start(t)
		if !answers(host, c.inner) {
			t.Fatal("nothing passes")
		}
		gone := says(t, c.Node, "routing-loop-gone: peer server: ")
		if w.in == "" {
			wgQuick(t, host, "wgq0", mark)
		} else {
			do(t, host, "ip tuntap add wgq0 mode tun; ip addr add 10.66.0.2/32 dev wgq0; ip link set wgq0 up; "+w.in)
		}
		await(t, "line about "+w.what, told)
		if w.out == "" {
			wgQuickDown(t, host, "wgq0", mark)
		} else {
			do(t, host, w.out+"; ip link del wgq0")
		}
		gone()
		if !answers(host, c.inner) {
			t.Errorf("%s: when they are gone nothing passes", w.what)
		}
		must(t, c.Down())
	}
	// In this case, the other tunnel exists before the start.
	wgQuick(t, host, "wgq0", mark)
	c.start(t)
	await(t, "line about rules that were there before", told)
	// In this case, the configuration file names the other tunnel.
	must(t, c.Down())
	c.Config.Interfaces = []string{"wgq0"}
	c.start(t)
	time.Sleep(2 * time.Second)
	if strings.Contains(c.Log(), "routing-loop: ") {
		t.Errorf("it tells of a loop through an uplink that its file names:\n%s", c.Log())
	}
}
