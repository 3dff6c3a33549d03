package e2e

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestIPv6Off starts a daemon with IPv6 addresses and routes on a host without IPv6. IPv4 must
// work, and one line must name the missing parts. Before the start, "check" must print the same
// line. The daemon must add the missing parts when IPv6 is enabled.
func TestIPv6Off(t *testing.T) {
	side(t)
	for _, where := range []string{"all", "default"} {
		t.Run(where, func(t *testing.T) {
			f := network(t, fabric.Spec{Spines: 1})
			n := everywhere(t, f)
			b := node(t, f.B(1), "b2", tunnel.Config{
				Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)},
				Peers:   []tunnel.Peer{{Name: "a", PublicKey: n.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 32)}}},
			})
			n.Config.Peers[0].PublicKey = b.PublicKey
			must(t, b.Start())
			do(t, n.Host, "sysctl -qw net.ipv6.conf."+where+".disable_ipv6=1")
			before := snapshot(t, n)
			must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
			foreseen := cli(t, n.Host, "check", n.File)
			must(t, n.Start())
			must(t, n.Await(tunnel.Inner4(2)))
			if line := hasSaid(t, n, "host-setting: IPv6 is off", 0); !strings.Contains(foreseen, line[strings.Index(line, "IPv6 is off"):]+" (warning)") {
				t.Errorf("check does not foresee %q: %s", line, foreseen)
			}
			for _, want := range []string{"IPv6 is off on " + n.Name, "address " + tunnel.Inner6(1).String() + "/64", "route ::/0"} {
				if strings.Count(n.Log(), want) != 1 {
					t.Errorf("want %q once in %s", want, n.Log())
				}
			}
			if strings.Contains(n.Log(), "CAP_") || strings.Contains(n.Log(), "not put back") {
				t.Errorf("it has another explanation: %s", n.Log())
			}
			do(t, n.Host, "sysctl -qw net.ipv6.conf."+where+".disable_ipv6=0; sysctl -qw net.ipv6.conf."+n.Name+".disable_ipv6=0")
			until(t, "address and routes of IPv6", 60*time.Second, func() bool {
				out := do(t, n.Host, "ip -6 addr show dev "+n.Name+"; ip -6 route show table all dev "+n.Name)
				return strings.Contains(out, tunnel.Inner6(1).String()+"/64") && strings.Contains(out, "default")
			})
			if !strings.Contains(n.Log(), "IPv6 is on: made ") {
				t.Errorf("it does not say that they are there: %s", n.Log())
			}
			if err := n.Stop(); err != nil {
				t.Error(err)
			}
			do(t, n.Host, "sysctl -qw net.ipv6.conf."+where+".disable_ipv6=1")
			wantUnchanged(t, n, before)
		})
	}
}

// TestAddressesChangeWhileIPv6IsOff disables IPv6 while a daemon runs, and then changes addresses
// and peers of both families. The IPv4 changes must take effect, and the command must name the
// missing IPv6 parts. The daemon must add the IPv6 parts when IPv6 is enabled again.
func TestAddressesChangeWhileIPv6IsOff(t *testing.T) {
	side(t)
	for _, where := range []string{"all", "the device"} {
		t.Run(where, func(t *testing.T) {
			f := network(t, fabric.Spec{Spines: 1})
			n := everywhere(t, f)
			n.Config.Peers[0].AllowedIPs = []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 32), netip.MustParsePrefix("fd08::/64")}
			must(t, n.Start())
			off := "net.ipv6.conf." + n.Name + ".disable_ipv6="
			if where == "all" {
				off = "net.ipv6.conf.all.disable_ipv6="
			}
			do(t, n.Host, "sysctl -qw "+off+"1")
			for _, c := range []struct{ setting, named string }{
				{"interface.address=10.9.0.1/24,10.81.0.1/24,fd81::1/64", "address fd81::1/64"},
				{"peer.b.allowed_ips=10.9.0.2/32,fd82::/64", "route fd82::/64"},
				{"interface.address=10.9.0.1/24,fd83::1/64", "address fd83::1/64"},
				{"interface.address=10.9.0.1/24,10.84.0.1/24,fd83::1/64", ""},
			} {
				text, err := exec.Command(bin, "set", n.Name, c.setting).CombinedOutput()
				out := string(text)
				if err != nil {
					t.Fatalf("%s: %v\n%s", c.setting, err, out)
				}
				if c.named != "" && (!strings.Contains(out, "srdtun: warning: IPv6 is off on "+n.Name) || !strings.Contains(out, c.named)) {
					t.Errorf("%s: want a warning with %q: %s", c.setting, c.named, out)
				}
				if c.named == "" && strings.Contains(out, "warning") {
					t.Errorf("%s: %s", c.setting, out)
				}
			}
			do(t, n.Host, "sysctl -qw "+off+"0")
			until(t, "address and route of IPv6", 60*time.Second, func() bool {
				out := do(t, n.Host, "ip addr show dev "+n.Name+"; ip -6 route show dev "+n.Name)
				return strings.Contains(out, "10.84.0.1/24") && strings.Contains(out, "fd83::1/64") && strings.Contains(out, "fd82::/64")
			})
		})
	}
}

// TestNothingPassesWithoutIPv6 runs a tunnel whose inner addresses are all of IPv6, on a host on
// which IPv6 is off from the start, or is switched off later. "show --check" must exit with 4, and
// its remedy must work.
func TestNothingPassesWithoutIPv6(t *testing.T) {
	side(t)
	for _, where := range []string{"all", "default", "the device"} {
		t.Run(where, func(t *testing.T) {
			d := direct(t, fabric.DirectSpec{})
			prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner6(i), 64)} }
			a, b := node(t, d.A, "a", tunnel.Config{Address: prefix(1)}), node(t, d.B, "b", tunnel.Config{Address: prefix(2)})
			a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix(2), Endpoints: []netip.AddrPort{netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)}}}
			b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix(1)}}
			must(t, b.Start())
			if where != "the device" {
				do(t, a.Host, "sysctl -qw net.ipv6.conf."+where+".disable_ipv6=1")
			}
			must(t, a.Start())
			if where == "the device" {
				await(t, "session", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
				do(t, a.Host, "sysctl -qw net.ipv6.conf."+a.Name+".disable_ipv6=1")
			}
			remedy := "sysctl net.ipv6.conf." + a.Name + ".disable_ipv6=0"
			await(t, "fault", func() bool {
				out := health(t, a)
				return strings.Contains(out, " is degraded: IPv6 is off on "+a.Name) && strings.Contains(out, "nothing passes until `"+remedy+"`") && strings.HasSuffix(out, "exit 4\n")
			})
			wants(t, "show", cli(t, a.Host, "show", a.Name), "  fault: IPv6 is off on "+a.Name)
			do(t, a.Host, remedy)
			until(t, "end of the fault", 60*time.Second, func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
			must(t, a.Await(tunnel.Inner6(2)))
		})
	}
}
