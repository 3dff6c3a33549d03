package netconf

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
)

// rule adds a policy rule of another program.
func rule(t *testing.T, priority, table int, mark uint32, invert bool) {
	t.Helper()
	r := netlink.NewRule()
	r.Family, r.Priority, r.Table, r.Mark, r.Invert = netlink.FAMILY_V4, priority, table, mark, invert
	must(t, netlink.RuleAdd(r))
}

func routeIn(t *testing.T, link netlink.Link, table int, dst string) {
	t.Helper()
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Table: table, Dst: ipNet(netip.MustParsePrefix(dst)), Scope: netlink.SCOPE_LINK}))
}

// Policy rules show which packets are outer packets of another VPN: their mark keeps them out of
// the VPN's table, or sends them to the main table. Marked packets that a rule sends into a tunnel
// are not outer packets.
func TestMarksOfOtherTunnels(t *testing.T) {
	host(t)
	known := func(tunnel string) bool { return tunnel == "srd0" || tunnel == "srd1" }
	if v := MarkedPackets(0, known); len(v) > 0 {
		t.Fatalf("a host without rules: %+v", v)
	}
	wg, ours, other := tun(t, "wg0"), tun(t, "srd0"), tun(t, "srd1")
	routeIn(t, wg, 4242, "0.0.0.0/0")
	routeIn(t, other, 4243, "0.0.0.0/0")
	routeIn(t, ours, 77, "0.0.0.0/0")
	rule(t, 31000, 4243, 4242, true)         // another daemon's, with the same mark
	rule(t, 32000, 4242, 4242, true)         // wg-quick(8)
	rule(t, 5210, tableMain, 0x80000, false) // Tailscale
	rule(t, 5211, tableMain, 0x80000, false) // the same mark twice
	rule(t, 100, 77, 5, false)               // sends marked packets into this tunnel on purpose
	rule(t, 101, 77, 6, true)                // this tunnel's own rule
	rule(t, 102, 9999, 7, true)              // a table without a route
	want := []string{"packets with the mark 0x80000, which a rule keeps out of tunnels,", "the outer packets of wg0 (mark 0x1092)"}
	var got []string
	for _, o := range MarkedPackets(0, known) {
		got = append(got, o.What)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if v := MarkedPackets(4242, known); len(v) != 1 || v[0].Mark != 0x80000 {
		t.Errorf("with that mark itself: %+v", v)
	}
}

// Takes predicts correctly which packets enter the interface after the plan is applied.
func TestPlanTakesWhatItSaysBefore(t *testing.T) {
	for _, c := range []struct {
		name   string
		routes []string
		mark   uint32
		outer  Outer
		takes  bool
	}{
		{"a default route takes all", []string{"0.0.0.0/0"}, 0, Outer{Mark: 1}, true},
		{"but its own mark", []string{"0.0.0.0/0"}, 0, Outer{Mark: sharedMark}, false},
		{"its configured mark", []string{"0.0.0.0/0"}, 4242, Outer{Mark: 4242}, false},
		{"not the shared one then", []string{"0.0.0.0/0"}, 4242, Outer{Mark: sharedMark}, true},
		{"a network on the link goes first", []string{"0.0.0.0/0"}, 0, Outer{To: netip.MustParseAddr("192.0.2.77")}, false},
		{"halves take every mark", []string{"0.0.0.0/1", "128.0.0.0/1"}, 4242, Outer{Mark: 4242}, true},
		{"halves leave links", []string{"0.0.0.0/1", "128.0.0.0/1"}, 0, Outer{To: netip.MustParseAddr("192.0.2.77")}, false},
		{"a narrow prefix takes its own", []string{"198.51.100.0/24"}, 0, Outer{To: netip.MustParseAddr("198.51.100.9")}, true},
		{"and nothing else", []string{"198.51.100.0/24"}, 0, Outer{To: netip.MustParseAddr("203.0.113.9")}, false},
		{"IPv6", []string{"::/0"}, 0, Outer{V6: true, Mark: 1}, true},
		{"of one family", []string{"::/0"}, 0, Outer{Mark: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			host(t)
			link := tun(t, "srd0")
			p := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Routes: prefixes(c.routes...), FwMark: c.mark}
			if p.Takes(c.outer) != c.takes {
				t.Errorf("before: not %v", c.takes)
			}
			s, err := Apply(p)
			must(t, err)
			if (c.outer.Interface() == link.Attrs().Index) != c.takes {
				t.Errorf("afterwards: not %v", c.takes)
			}
			if s.FwMark != p.OuterMark() {
				t.Errorf("its mark is %#x, and %#x was said", s.FwMark, p.OuterMark())
			}
			must(t, s.Revert())
		})
	}
}
