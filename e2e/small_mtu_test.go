package e2e

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestSmallMTUIsNamed lets an underlay carry fewer bytes than a full packet has. "show --check",
// "show" and "netcheck" must name the size, and no event may tell of a NAT. If this host's own
// interface or route is the reason, "check" must foresee it.
func TestSmallMTUIsNamed(t *testing.T) {
	side(t)
	const passes = "peer hub: small packets pass, but none of 1228 bytes does, on no path: "
	for name, c := range map[string]struct {
		small, mend string // commands on both hosts
		v6          bool   // the outer packets are of IPv6
		want        string
		check       bool
	}{
		"a link on the way": {small: "nft 'table ip small { chain i { type filter hook input priority 0; ip length > 1000 drop; }; }'", mend: "nft delete table ip small", want: passes},
		"a link for IPv6":   {small: "nft 'table ip6 small { chain i { type filter hook input priority 0; ip6 length > 1200 drop; }; }'", mend: "nft delete table ip6 small", v6: true, want: strings.ReplaceAll(passes, "1228", "1248")},
		"the interface":     {small: "ip link set eth0 mtu 1000", mend: "ip link set eth0 mtu 1500", want: "no way to 10.1.1.2:51820: eth0 carries packets of at most 1000 bytes, and srdtun needs 1228", check: true},
		"the route":         {small: "ip route add 10.1.1.2/32 dev eth0 mtu lock 1100 2>/dev/null || true", mend: "ip route del 10.1.1.2/32 2>/dev/null || true", want: "no way to 10.1.1.2:51820: eth0 carries packets of at most 1100 bytes, and srdtun needs 1228", check: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, hub, caller := waiting(t)
			hosts := []*fabric.Host{d.A, d.B}
			for i, h := range hosts {
				do(t, h, "ip addr add 2001:db8::"+string(rune('1'+i))+"/64 dev eth0 nodad; "+c.small)
			}
			if c.v6 {
				caller.Config.Peers[0].Endpoints = []netip.AddrPort{netip.MustParseAddrPort("[2001:db8::2]:51820")}
			}
			must(t, hub.Start())
			must(t, caller.Start())
			await(t, "line of show --check", func() bool {
				do(t, d.A, "ping -c 1 -W 0.2 -s 1300 "+tunnel.Inner4(2).String()+" >/dev/null || true")
				out := health(t, caller)
				return strings.Contains(out, " is degraded: ") && strings.Contains(out, c.want) && !strings.Contains(out, "; ") && strings.HasSuffix(out, "exit 4\n")
			})
			wants(t, "show", cli(t, d.A, "show", caller.Name), "  fault: "+strings.TrimPrefix(c.want, "peer hub: "))
			wants(t, "netcheck", do(t, d.A, `"`+bin+`" netcheck --quick `+caller.Name+" 2>&1 || true"), strings.TrimPrefix(c.want, "peer hub: "))
			if c.check {
				wants(t, "check", cli(t, d.A, "check", caller.File), c.want)
			}
			for _, h := range hosts {
				do(t, h, c.mend)
			}
			await(t, "end of the fault", func() bool {
				do(t, d.A, "ping -c 1 -W 0.2 -s 1300 "+tunnel.Inner4(2).String()+" >/dev/null || true")
				return strings.HasPrefix(health(t, caller), caller.Name+": ok: ")
			})
			for _, n := range []*tunnel.Node{hub, caller} {
				if strings.Contains(n.Log(), "peer-rebound") {
					t.Errorf("there is no NAT: %s", n.Log())
				}
			}
		})
	}
}
