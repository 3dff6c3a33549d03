package netconf

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

// tun creates a TUN device, which represents another tunnel.
func tun(t *testing.T, name string) netlink.Link {
	t.Helper()
	must(t, netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TUN}))
	link, err := netlink.LinkByName(name)
	must(t, err)
	must(t, netlink.LinkSetUp(link))
	return link
}

// Two tunnels have default routes. Neither carries the other's outer packets. The later one gets
// the default traffic, and both detect this.
func TestTwoDefaultRoutes(t *testing.T) {
	host(t)
	var all []*State
	var foreseen []string
	for _, name := range []string{"srd0", "srd1"} {
		foreseen, _, _ = Plan{Link: name, Routes: prefixes("0.0.0.0/0", "::/0")}.Foresee()
		link := tun(t, name)
		if v := Tunnel(link.Attrs().Index); v != name {
			t.Errorf("%s is taken for the tunnel %q", name, v)
		}
		s, err := Apply(Plan{Link: name, StateFile: stateFile(t, name), Routes: prefixes("0.0.0.0/0", "::/0")})
		must(t, err)
		all = append(all, s)
	}
	for _, to := range []string{"198.51.100.1", "2001:db8:1::1"} {
		for _, s := range all {
			routes, err := netlink.RouteGetWithOptions(netip.MustParseAddr(to).AsSlice(), &netlink.RouteGetOptions{Mark: s.FwMark})
			must(t, err)
			if by := linkName(new(netlink.Handle), routes[0].LinkIndex); by != "eth0" {
				t.Errorf("outer packets to %s with mark %#x go to %s", to, s.FwMark, by)
			}
		}
	}
	if a, b := all[0].Overtaken(), all[1].Overtaken(); a != "srd1" || b != "" {
		t.Errorf("the first is overtaken by %q, the second by %q", a, b)
	}
	if a, b := strings.Join(all[0].Warnings, "\n"), strings.Join(all[1].Warnings, "\n"); strings.Contains(a, "takes the default route") || !strings.Contains(b, "srd1 takes the default route from srd0") {
		t.Errorf("warnings %q and %q", a, b)
	}
	if !slices.Equal(foreseen, all[1].Warnings) {
		t.Errorf("foreseen %q, and then %q", foreseen, all[1].Warnings)
	}
	must(t, all[1].Revert())
	if v := all[0].Overtaken(); v != "" {
		t.Errorf("overtaken by %q, which has no routes any more", v)
	}
	// If only the rules are missing, Overtaken must not report another tunnel.
	for _, f := range families {
		rules, err := netlink.RuleList(f)
		must(t, err)
		for i := range rules {
			if rules[i].Table == firstTable {
				must(t, netlink.RuleDel(&rules[i]))
			}
		}
	}
	if v := all[0].Overtaken(); v != "" {
		t.Errorf("overtaken by %q", v)
	}
	must(t, all[0].Revert())
}

// A device that does not belong to a VPN counts as an uplink. For instance, a container may have a
// TAP device as its uplink.
func TestLinesAreNoTunnels(t *testing.T) {
	host(t)
	must(t, netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tap0"}, Mode: netlink.TUNTAP_MODE_TAP}))
	for _, name := range []string{"tap0", "eth0", "lo"} {
		link, err := netlink.LinkByName(name)
		must(t, err)
		if v := Tunnel(link.Attrs().Index); v != "" {
			t.Errorf("%s is taken for a tunnel", v)
		}
	}
	if v := Tunnel(99999); v != "" {
		t.Errorf("%q has the number of no interface", v)
	}
}

// Another VPN has routes for the two halves of all addresses in the main table. They are narrower
// than this tunnel's default route, so the traffic stays in the other VPN, and a warning says so.
func TestHalvesOfAnotherKeepTheTraffic(t *testing.T) {
	host(t)
	other := tun(t, "other0")
	for _, half := range prefixes("0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1") {
		must(t, (routeStep{Prefix: half, Table: tableMain, Link: "other0", Index: other.Attrs().Index}).do(new(netlink.Handle)))
	}
	tun(t, "srd0")
	s, err := Apply(Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Routes: prefixes("0.0.0.0/0", "::/0")})
	must(t, err)
	if v := s.Overtaken(); v != "other0" {
		t.Errorf("the traffic goes to %q", v)
	}
	const want = "packets without another route stay in other0, and do not go through srd0"
	if got := strings.Join(s.Warnings, "\n"); strings.Count(got, want) != 2 || strings.Contains(got, "goes through srd0 now") {
		t.Errorf("warnings %q", got)
	}
	must(t, s.Revert())
}
