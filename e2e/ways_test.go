package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestNoWayIsNamed takes an idle end's only way to its peer away, or starts the end without one.
// "show --check" must name the reason and exit with 4, and "show" must have a line. When there is
// a way again, "show --check" must find no fault.
func TestNoWayIsNamed(t *testing.T) {
	side(t)
	const far = "198.51.100.2" // no route leads there
	toFar := "ip addr add " + far + "/32 dev lo"
	for name, c := range map[string]struct {
		change      func(*tunnel.Config)
		to          string // endpoint of the peer; "": its address on the cable
		atB         string // commands at the peer before the start
		before      string // commands before the start
		cut, cutB   string // commands that take the way away
		mend, mendB string
		want        string // part of the line
	}{
		"the uplink is down":   {cut: "ip link set eth0 down", mend: "ip link set eth0 up", want: "no address here to reach 10.1.1.2:51820 from; see paths.local and the routes (eth0 is down)"},
		"the cable is out":     {cutB: "ip link set eth0 down", mendB: "ip link set eth0 up", want: "no way to 10.1.1.2:51820: eth0 has no carrier"},
		"IPv6 is off":          {to: "2001:db8::2", before: "sysctl -qw net.ipv6.conf.all.disable_ipv6=1", mend: "sysctl -qw net.ipv6.conf.all.disable_ipv6=0; ip addr add 2001:db8::1/64 dev eth0 nodad", want: "no address here to reach [2001:db8::2]:51820 from: IPv6 is off on this host"},
		"IPv6 is switched off": {to: "2001:db8::2", cut: "sysctl -qw net.ipv6.conf.all.disable_ipv6=1", mend: "sysctl -qw net.ipv6.conf.all.disable_ipv6=0; ip addr add 2001:db8::1/64 dev eth0 nodad", want: "IPv6 is off on this host"},
		"no route":             {to: far, atB: toFar, mend: "ip route add " + far + " via 10.1.1.2", want: "no address here to reach 198.51.100.2:51820 from; see paths.local and the routes"},
		"no route from an address of paths.local": {
			to: far, atB: toFar, change: func(c *tunnel.Config) { c.Local = []netip.Addr{netip.MustParseAddr("10.1.1.1")} },
			mend: "ip route add " + far + " via 10.1.1.2", want: "no route from 10.1.1.1 to 198.51.100.2:51820; see ip route get 198.51.100.2 from 10.1.1.1",
		},
		"no route by an interface of paths.local": {
			to: far, atB: toFar, change: func(c *tunnel.Config) { c.Interfaces = []string{"eth0"} },
			mend: "ip route add " + far + " via 10.1.1.2", want: "eth0 has no route to 198.51.100.2; give it one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := direct(t, fabric.DirectSpec{})
			for i, h := range []*fabric.Host{d.A, d.B} {
				do(t, h, fmt.Sprintf("ip addr add 2001:db8::%d/64 dev eth0 nodad", i+1))
			}
			prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)} }
			a, b := node(t, d.A, "a", tunnel.Config{Address: prefix(1)}), node(t, d.B, "b", tunnel.Config{Address: prefix(2)})
			to := d.B.Addr4()
			if c.to != "" {
				to = netip.MustParseAddr(c.to)
			}
			a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix(2), Endpoints: []netip.AddrPort{netip.AddrPortFrom(to, tunnel.DefaultPort)}}}
			b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix(1)}}
			if c.change != nil {
				c.change(&a.Config)
			}
			do(t, d.B, c.atB)
			do(t, d.A, c.before)
			must(t, b.Start())
			must(t, a.Start())
			if c.cut+c.cutB != "" {
				await(t, "session", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
			}
			do(t, d.A, c.cut)
			do(t, d.B, c.cutB)
			await(t, "line of show --check", func() bool {
				out := health(t, a)
				return strings.Contains(out, " is degraded: peer b: ") && strings.Contains(out, c.want) && strings.HasSuffix(out, "exit 4\n")
			})
			wants(t, "show", cli(t, d.A, "show", a.Name), "  fault: ")
			wants(t, "show", cli(t, d.A, "show", a.Name), c.want)
			wants(t, "show", cli(t, d.A, "show", a.Name), "  paths: 0 of ")
			if v := railPaths(t, a, "active"); len(v) != 0 {
				t.Errorf("paths %v are active without a way", v)
			}
			wants(t, "show --json", cli(t, d.A, "show", "--json", a.Name), `"no_way": "`)
			wants(t, "events", cli(t, d.A, "events", a.Name), "no-way: peer b: ")
			do(t, d.A, c.mend)
			do(t, d.B, c.mendB)
			await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
			wants(t, "events", cli(t, d.A, "events", a.Name), "way-back: peer b: ")
		})
	}
}

// health returns the output of "show --check", and its exit code if it fails.
func health(t *testing.T, n *tunnel.Node) string {
	t.Helper()
	return do(t, n.Host, fmt.Sprintf(`"%s" show --check %s 2>&1 || echo exit $?`, bin, n.Name))
}

// TestUplinkWithoutRouteIsNamed gives an end a second interface in paths.local, without a route to
// the peer. The session works, and "show --check" must name the interface until it has a route, or
// until paths.local does not name it.
func TestUplinkWithoutRouteIsNamed(t *testing.T) {
	side(t)
	for name, mend := range map[string]func(t *testing.T, a *tunnel.Node){
		"a route":      func(t *testing.T, a *tunnel.Node) { do(t, a.Host, "ip route add default dev eth1") },
		"another file": func(t *testing.T, a *tunnel.Node) { cli(t, a.Host, "set", a.Name, "paths.local=eth0") },
	} {
		t.Run(name, func(t *testing.T) {
			d := direct(t, fabric.DirectSpec{})
			do(t, d.A, "ip link add eth1 type veth peer name far1; ip addr add 192.0.2.1/24 dev eth1; ip link set eth1 up; ip link set far1 up")
			prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)} }
			a := node(t, d.A, "a", tunnel.Config{Address: prefix(1), Interfaces: []string{"eth0", "eth1"}})
			b := node(t, d.B, "b", tunnel.Config{Address: prefix(2)})
			to := netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)
			a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix(2), Endpoints: []netip.AddrPort{to}}}
			b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix(1)}}
			must(t, b.Start())
			must(t, a.Start())
			must(t, a.Await(tunnel.Inner4(2)))
			for range 3 {
				await(t, "line of show --check", func() bool {
					out := health(t, a)
					return strings.Contains(out, " is degraded: paths.local: eth1 has no route to "+d.B.Addr4().String()+"; ") && strings.HasSuffix(out, "exit 4\n")
				})
				wants(t, "show", cli(t, d.A, "show", a.Name), "fault: paths.local: eth1 has no route to ")
				time.Sleep(500 * time.Millisecond)
			}
			mend(t, a)
			await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
		})
	}
}
