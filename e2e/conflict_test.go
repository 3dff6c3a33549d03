package e2e

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// cli runs the srdtun binary on a host, and returns its standard output and standard error.
func cli(t *testing.T, h *fabric.Host, args ...string) string {
	t.Helper()
	out, err := h.Run("sh", append([]string{"-c", `exec "$@" 2>&1`, "sh", bin}, args...)...)
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return out
}

// detach starts a client with "up -d", and returns the output of the command.
func (c client) detach(t *testing.T) string {
	t.Helper()
	c.write(t)
	t.Cleanup(func() { _, _ = c.Host.Run(bin, "down", c.Name) })
	return cli(t, c.Host, "up", "-d", c.File)
}

func (c client) write(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile(c.File, c.Config.TOML(), 0o600))
}

func wants(t *testing.T, what, out, want string) {
	t.Helper()
	if !strings.Contains(out, want) {
		t.Errorf("%s says %q, want %q", what, out, want)
	}
}

// ownMark and halves change how a client takes all traffic: with another mark, or by two half
// prefixes.
func ownMark(c *client) { c.Config.Extra = "fwmark = 4242\n" }
func halves(c *client) {
	c.Config.Peers[0].AllowedIPs = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/1"), netip.MustParsePrefix("128.0.0.0/1")}
}
func none(c *client) { c.Config.Peers[0].AllowedIPs = nil }
func plain(*client)  {}

// both makes two clients, and a host route to one of the servers. OpenVPN also adds a host route to
// its half prefixes, so that the tunnel does not route its own outer packets.
func both(t *testing.T, f *fabric.Fabric, first, second func(*client), straight int) (a, b client) {
	t.Helper()
	a, b = clientOf(t, f, 1), clientOf(t, f, 2)
	first(&a)
	second(&b)
	for _, c := range []*client{&a, &b} {
		c.Config.Peers[0].AllowedIPs = append(c.Config.Peers[0].AllowedIPs, netip.PrefixFrom(netip.MustParseAddr(c.inner), 32))
	}
	do(t, f.A(1), "ip route add "+f.B(straight).Addr4().String()+"/32 via "+gateway(f.A(1)))
	return a, b
}

// TestSecondTunnelIsToldBeforeItTakesTheFirst starts two tunnels that take all traffic, so that one
// of them would route the other's outer packets. The conflict must be reported by "check" before
// the start, and by "up -d" at the start. During the conflict, "show", "doctor" and an event of the
// interrupted tunnel must report it.
func TestSecondTunnelIsToldBeforeItTakesTheFirst(t *testing.T) {
	side(t)
	for name, shape := range map[string]struct {
		first, second func(*client)
		straight      int // the server with a host route
	}{
		"the second has its own mark":            {plain, ownMark, 1},
		"the second has halves":                  {plain, halves, 2},
		"the first has its own mark":             {ownMark, plain, 1},
		"the first has halves":                   {halves, plain, 1},
		"the first has no default route at all":  {none, plain, 2},
		"the first has none, the second, halves": {none, halves, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := network(t, fabric.Spec{HostsB: 2})
			host := f.A(1)
			first, second := both(t, f, shape.first, shape.second, shape.straight)
			if out := first.detach(t); strings.Contains(out, "go into") {
				t.Errorf("the first start says %q", out)
			}
			if !answers(host, first.inner) {
				t.Fatal("nothing passes the first one")
			}
			second.write(t)
			// The report names one of the two tunnels, whichever is interrupted.
			checked := cli(t, host, "check", second.File)
			told := second.detach(t)
			t.Logf("check: %supd -d: %s", checked, told)
			dies := first.Name
			if strings.Contains(told, "its endpoint") {
				dies = second.Name
			}
			other := map[string]string{first.Name: second.Name, second.Name: first.Name}[dies]
			for what, out := range map[string]string{
				"check": checked, "up -d": told, "check while it runs": cli(t, host, "check", second.File), "doctor": cli(t, host, "doctor", second.File),
			} {
				wants(t, what, out, other)
				wants(t, what, out, "warning")
			}
			await(t, "event of "+dies, func() bool {
				return strings.Contains(cli(t, host, "events", dies), "go into the tunnel "+other)
			})
			wants(t, "show", cli(t, host, "show", dies), "go into the tunnel "+other)
			if _, err := host.Run(bin, "show", "--check", dies); err == nil {
				t.Error("show --check finds nothing wrong")
			}
		})
	}
}

// TestPeersOnTheLinkAreNoConflict starts two tunnels that take all traffic, with servers on a
// directly connected link. No rule or route takes the outer packets from that link, so nothing may
// be told. When only a default route leads to the servers, the conflict is true, and one of the
// tunnels must be degraded.
func TestPeersOnTheLinkAreNoConflict(t *testing.T) {
	side(t)
	for name, shape := range map[string]struct{ first, second func(*client) }{
		"the second has its own mark": {plain, ownMark},
		"the second has halves":       {plain, halves},
		"the first has its own mark":  {ownMark, plain},
		"the first has halves":        {halves, plain},
		"halves and a mark":           {halves, ownMark},
	} {
		t.Run(name, func(t *testing.T) {
			d := direct(t, fabric.DirectSpec{})
			first, second := clientAt(t, d.A, d.B, 1), clientAt(t, d.A, d.B, 2)
			shape.first(&first)
			shape.second(&second)
			const conflict = " go into "
			said := first.detach(t)
			second.write(t)
			said += cli(t, d.A, "check", second.File) + second.detach(t)
			for _, c := range []client{first, second} {
				if !answers(d.A, c.inner) {
					t.Errorf("%s does not answer", c.inner)
				}
			}
			time.Sleep(time.Second) // both daemons notice the last change of rules
			for _, c := range []client{first, second} {
				said += cli(t, d.A, "check", c.File) + cli(t, d.A, "events", c.Name) + health(t, c.Node)
			}
			for line := range strings.Lines(cli(t, d.A, "doctor")) {
				// It tells of the tunnels of other tests as well.
				if strings.Contains(line, first.Name+": ") || strings.Contains(line, second.Name+": ") {
					said += line
				}
			}
			if strings.Contains(said, conflict) {
				t.Errorf("it tells of a conflict that there is not:\n%s", said)
			}
			told := func() bool { return strings.Contains(health(t, first.Node)+health(t, second.Node), conflict) }
			do(t, d.A, "ip route add default via 10.1.1.2 dev eth0 onlink; ip route del 10.1.1.0/24 dev eth0")
			await(t, "conflict", told)
			do(t, d.A, "ip route add 10.1.1.0/24 dev eth0 src 10.1.1.1")
			await(t, "end of the conflict", func() bool { return !told() })
		})
	}
}

// TestRoamingPeerInAnotherTunnelIsNamed routes packets to a peer without configured endpoints into
// another tunnel. The peer's packets still arrive, but no answer reaches it.
func TestRoamingPeerInAnotherTunnelIsNamed(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p := passive(t, d.A, d.B, 0)
	must(t, p.A.Await(tunnel.Inner4(2)))
	do(t, d.B, "ip tuntap add wgq0 mode tun; ip addr add 10.66.0.2/32 dev wgq0; ip link set wgq0 up; ip route add 10.1.1.1/32 dev wgq0")
	line := "peer " + p.B.Config.Peers[0].Name + ": packets to its endpoint 10.1.1.1 go into the tunnel wgq0"
	await(t, "conflict", func() bool { return strings.Contains(health(t, p.B), line) })
	do(t, d.B, "ip link del wgq0")
	await(t, "end of the conflict", func() bool { return strings.HasPrefix(health(t, p.B), p.B.Name+": ok: ") })
}

// TestSecondHalvesAreRefused starts two tunnels with the same half prefixes. The second tunnel must
// refuse to start and name the first tunnel, which must keep working.
func TestSecondHalvesAreRefused(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	first, second := both(t, f, halves, func(c *client) { halves(c); ownMark(c) }, 1)
	first.detach(t)
	second.write(t)
	wants(t, "check", cli(t, f.A(1), "check", second.File), "peer.allowed_ips: the start would fail now: route 0.0.0.0/1: the main routing table has one already, by "+first.Name)
	out, err := f.A(1).Run("sh", "-c", `exec "$@" 2>&1`, "sh", bin, "up", "-d", second.File)
	if err == nil || !strings.Contains(out, "by "+first.Name) {
		t.Errorf("%v: %s", err, out)
	}
	if !answers(f.A(1), first.inner) {
		t.Error("nothing passes the first one")
	}
}

// TestNarrowPrefixAroundAnEndpointIsNamed starts a second tunnel with a prefix that contains the
// address of the first tunnel's server. No mark can solve this conflict, so the messages must name
// the peer whose prefix must be removed.
func TestNarrowPrefixAroundAnEndpointIsNamed(t *testing.T) {
	side(t)
	for name, reached := range map[string]bool{"of a peer with paths": true, "of a peer without an endpoint": false} {
		t.Run(name, func(t *testing.T) {
			f := network(t, fabric.Spec{HostsB: 2})
			host := f.A(1)
			around := netip.PrefixFrom(f.B(1).Addr4(), 31).Masked()
			first, second := both(t, f, none, func(c *client) { c.Config.Peers[0].AllowedIPs = []netip.Prefix{around} }, 2)
			second.Config.Peers[0].Name = "greedy"
			if !reached {
				second.Config.Peers[0].Endpoints = nil
			}
			first.detach(t)
			if !answers(host, first.inner) {
				t.Fatal("nothing passes the first one")
			}
			second.write(t)
			const names = " is in allowed_ips of its peer greedy: leave their addresses out there"
			wants(t, "check", cli(t, host, "check", second.File), around.String()+names)
			wants(t, "up -d", second.detach(t), around.String()+names)
			wants(t, "doctor", cli(t, host, "doctor", second.File), around.String()+names)
			wants(t, "doctor", cli(t, host, "doctor"), around.String()+names)
			await(t, "event of the first", func() bool {
				return strings.Contains(cli(t, host, "events", first.Name), "go into the tunnel "+second.Name+", because its default route, narrower prefix or rules")
			})
		})
	}
}

// TestForeignTunnelIsToldInBothOrders runs another VPN's device and a srdtun tunnel, in both
// orders.
func TestForeignTunnelIsToldInBothOrders(t *testing.T) {
	side(t)
	const mark = 4242
	f := network(t, fabric.Spec{})
	host := f.A(1)
	device := func(t *testing.T) {
		t.Helper()
		do(t, host, "ip tuntap add wgq0 mode tun; ip addr add 10.66.0.2/32 dev wgq0; ip link set wgq0 up; ip route add 0.0.0.0/1 dev wgq0; ip route add 128.0.0.0/1 dev wgq0")
	}
	for _, foreign := range []struct {
		name     string
		up, down func(*testing.T)
	}{
		{"rules of another mark", func(t *testing.T) { wgQuick(t, host, "wgq0", mark) }, func(t *testing.T) { wgQuickDown(t, host, "wgq0", mark) }},
		{"halves", device, func(t *testing.T) { do(t, host, "ip link del wgq0") }},
	} {
		c := clientOf(t, f, 1)
		for _, before := range []bool{true, false} {
			t.Run(foreign.name+map[bool]string{true: " before", false: " after"}[before], func(t *testing.T) {
				if before {
					foreign.up(t)
				}
				c.write(t)
				checked := cli(t, host, "check", c.File)
				told := c.detach(t)
				if before {
					t.Logf("check: %sup -d: %s", checked, told)
					wants(t, "check", checked, "wgq0")
					wants(t, "up -d", told, "wgq0")
				} else {
					if told != "" || strings.Contains(checked, "wgq0") {
						t.Errorf("without a foreign tunnel: %q, %q", checked, told)
					}
					foreign.up(t)
				}
				await(t, "line of show", func() bool { return strings.Contains(cli(t, host, "show", c.Name), "conflict: ") })
				wants(t, "events", cli(t, host, "events", c.Name), "wgq0")
				wants(t, "check", cli(t, host, "check", c.File), "wgq0")
				wants(t, "doctor", cli(t, host, "doctor"), "wgq0")
				foreign.down(t)
				await(t, "end of it", func() bool { return !strings.Contains(cli(t, host, "show", c.Name), "conflict: ") })
				if marked := strings.HasPrefix(foreign.name, "rules"); before && marked {
					heard := cli(t, host, "events", c.Name)
					wants(t, "events", heard, "outer-taken: the outer packets of wgq0 (mark 0x1092) go into "+c.Name)
					wants(t, "events", heard, "outer-free: ")
				}
				if !answers(host, c.inner) {
					t.Error("when it is gone nothing passes")
				}
				cli(t, host, "down", c.Name)
			})
		}
		do(t, f.B(1), "ip addr del "+wideWorld+"/32 dev lo")
		must(t, c.server.Stop())
	}
}
