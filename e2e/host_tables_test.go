package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// TestPortsCannotBeShadowed enables connection tracking on both hosts, as on a host that
// masquerades for others. With the rules in contrib, no outer packet of the tunnel is tracked, so
// nobody behind the host can take over a port of the tunnel (CVE-2021-3773).
func TestPortsCannotBeShadowed(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	near, far := guidedHost(t, f.A(1)), guidedHost(t, f.B(1))
	conf := func(own, other, key, remote string) string {
		return "[interface]\nprivate_key_file = \"lab.key\"\naddress = [\"" + own + "/24\"]\n" +
			"[paths]\nsource_ports = 16\nport_range = \"51821-51852\"\n[[peer]]\nname = \"far\"\npublic_key = \"" + key +
			"\"\nendpoints = [\"" + remote + ":51820\"]\nallowed_ips = [\"" + other + "/32\"]\n"
	}
	near.write(t, conf("10.80.0.1", "10.80.0.2", far.public, f.B(1).Addr4().String()))
	far.write(t, conf("10.80.0.2", "10.80.0.1", near.public, f.A(1).Addr4().String()))
	rules, err := os.ReadFile("../contrib/nftables.conf")
	must(t, err)
	for _, c := range []struct {
		name, rules string
		tracked     bool
	}{
		{"without rules", "", true},
		{"with contrib's", string(rules), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, g := range []*guided{near, far} {
				do(t, g.Host, "nft flush ruleset; nft add table inet nat; nft 'add chain inet nat out { type nat hook postrouting priority srcnat; }'; nft add rule inet nat out ip saddr 192.0.2.0/24 masquerade")
				command(t, g.Host, "nft", c.rules+`
					table inet count {
						chain in { type filter hook input priority 10; udp dport 51820-51852 ct state untracked counter; udp dport 51820-51852 ct state != untracked counter; }
						chain out { type filter hook output priority 10; udp sport 51820-51852 ct state untracked counter; udp sport 51820-51852 ct state != untracked counter; }
					}`)
			}
			for _, g := range []*guided{near, far} {
				g.sh(t, "srdtun", "up", "-d", "lab")
			}
			t.Cleanup(func() {
				near.sh(t, "srdtun", "down", "lab")
				far.sh(t, "srdtun", "down", "lab")
			})
			near.sh(t, "srdtun", "wait", "lab", "--peer", "far", "--timeout", "10s")
			near.sh(t, "ping", "-n", "-q", "-c", "50", "-i", "0.02", "-W", "5", "10.80.0.2")
			for i, g := range []*guided{near, far} {
				for _, chain := range []string{"in", "out"} {
					untracked, tracked := counters(t, g.Host, "inet", "count", chain)
					t.Logf("%s %s: %d packets untracked, %d tracked", []string{"near", "far"}[i], chain, untracked, tracked)
					if (tracked > 0) != c.tracked || (untracked > 0) == c.tracked {
						t.Errorf("%s %s: %d packets untracked, %d tracked", []string{"near", "far"}[i], chain, untracked, tracked)
					}
				}
			}
		})
	}
}

// counters returns the packet counts of the first two counters of a chain.
func counters(t *testing.T, h *fabric.Host, family, table, chain string) (first, second int) {
	t.Helper()
	var out struct {
		Nftables []struct {
			Rule struct {
				Expr []struct{ Counter *struct{ Packets int } }
			}
		}
	}
	must(t, json.Unmarshal([]byte(command(t, h, "nft", "--json", "list", "chain", family, table, chain)), &out))
	var all []int
	for _, o := range out.Nftables {
		for _, e := range o.Rule.Expr {
			if e.Counter != nil {
				all = append(all, e.Counter.Packets)
			}
		}
	}
	return append(all, 0, 0)[0], append(all, 0, 0)[1]
}

// TestNarrowRoutePastTheTunnel adds a route of the local network that is narrower than the tunnel's
// default route, like a route from a DHCP server's option 121 (CVE-2024-3661, TunnelVision). With
// the rule in docs/security.md, no packet may bypass the tunnel, and the tunnel must work.
func TestNarrowRoutePastTheTunnel(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	c := clientOf(t, f, 1)
	c.start(t)
	host := f.A(1)
	if !answers(host, wideWorld) || leads(t, host, wideWorld) != c.Name {
		t.Fatal("nothing passes the tunnel")
	}
	var show struct {
		FwMark uint32 `json:"fwmark"`
	}
	must(t, json.Unmarshal([]byte(command(t, host, bin, "show", c.Name, "--json")), &show))
	do(t, host, `nft 'table inet watch { chain out { type filter hook output priority 10; oifname "eth*" ip daddr `+wideWorld+` counter; }; }'`)
	_, gateway, ok := strings.Cut(do(t, host, "ip -4 route show default table main"), "default ")
	if !ok {
		t.Fatal("the host has no default route")
	}
	do(t, host, "ip route add "+wideWorld+"/32 "+gateway)
	do(t, host, "ping -n -c 3 -i 0.1 -W 1 "+wideWorld+" || true")
	if n, _ := counters(t, host, "inet", "watch", "out"); n != 3 {
		t.Errorf("%d packets left past the tunnel; docs/security.md says that they do", n)
	}
	do(t, host, fmt.Sprintf(`nft 'table inet only { chain out { type filter hook output priority 0; oifname != { "lo", "%s" } meta mark != %d drop; }; }'`, c.Name, show.FwMark))
	do(t, host, "ping -n -c 3 -i 0.1 -W 1 "+wideWorld+" || true")
	if n, _ := counters(t, host, "inet", "watch", "out"); n != 3 {
		t.Errorf("%d packets more left past the tunnel", n-3)
	}
	if !answers(host, c.inner) {
		t.Error("nothing passes the tunnel with the rule")
	}
}
