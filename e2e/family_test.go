package e2e

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestIPv6Off starts a daemon with IPv6 addresses and routes on a host without IPv6. IPv4
// works, and one line names the missing parts. They come when IPv6 is switched on.
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
			if err := b.Start(); err != nil {
				t.Fatal(err)
			}
			do(t, n.Host, "sysctl -qw net.ipv6.conf."+where+".disable_ipv6=1")
			before := snapshot(t, n)
			if err := n.Start(); err != nil {
				t.Fatal(err)
			}
			if err := n.Await(tunnel.Inner4(2)); err != nil {
				t.Fatal(err)
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
