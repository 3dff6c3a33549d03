package daemon

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

// Both uplinks share one route with two next hops, as with ECMP. Neither lacks a route, and the
// peer has a way until both lose their carrier.
func TestSharedRouteServesBothUplinks(t *testing.T) {
	uplink(t)
	addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdv0"}, PeerName: "srdv1"})
	ip(t, "link", "set", "srdv1", "up")
	ip(t, "addr", "add", "198.51.100.1/24", "dev", "srdv0")
	ip(t, "route", "replace", "default", "nexthop", "via", "192.0.2.254", "dev", "srdw0", "nexthop", "via", "198.51.100.2", "dev", "srdv0")
	s := opened(t, "[paths]\n", "[paths]\nlocal = [\"srdw0\", \"srdv0\"]\n", "127.0.0.1:5999", "203.0.113.9:5999")
	s.change()
	s.endpoints.checkRoutes()
	if all := texts(s.log); slices.ContainsFunc(all, func(line string) bool { return strings.HasPrefix(line, "uplink-bypassed ") }) {
		t.Errorf("told %q", all)
	}
	for _, step := range []struct{ down, want string }{
		{"", ""},
		{"srdw1", ""},
		{"srdv1", "no way to 203.0.113.9:5999: srdw0 or srdv0 has no carrier"},
	} {
		if step.down != "" {
			ip(t, "link", "set", step.down, "down")
		}
		s.change()
		if got := s.uplinks.noWay([]netip.AddrPort{netip.MustParseAddrPort("203.0.113.9:5999")}); got != step.want {
			t.Errorf("%s down: %q, want %q", step.down, got, step.want)
		}
	}
}
