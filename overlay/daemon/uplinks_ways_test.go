package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
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
		{"srdv1", "no way to 203.0.113.9:5999: srdw0 has no carrier and srdv0 has no carrier"},
	} {
		if step.down != "" {
			ip(t, "link", "set", step.down, "down")
		}
		var got string
		// The kernel marks the routes of an interface a moment after it has lost its carrier.
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			s.change()
			if got = s.uplinks.noWay([]netip.AddrPort{netip.MustParseAddrPort("203.0.113.9:5999")}); got == step.want {
				break
			}
		}
		if got != step.want {
			t.Errorf("%s down: %q, want %q", step.down, got, step.want)
		}
	}
}

// Each check covers at most 64 endpoints. An interface that reaches only one of many endpoints is no
// fault, and an interface that reaches none is one after all were checked.
func TestUplinkReachesOneOfManyEndpoints(t *testing.T) {
	uplink(t)
	addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdv0"}, PeerName: "srdv1"})
	for _, name := range []string{"srdv1", "srdv0"} {
		ip(t, "link", "set", name, "up")
	}
	ip(t, "addr", "add", "198.51.100.1/24", "dev", "srdv0")
	var peers strings.Builder
	for i := range 2 * targetsMost / 16 {
		fmt.Fprintf(&peers, "[[peer]]\npublic_key = %q\nallowed_ips = [\"10.80.1.%d/32\"]\nendpoints = [\"203.0.113.1:5000\"", key(t, byte(4+i)), i)
		for n := range 15 {
			fmt.Fprintf(&peers, ", \"203.0.113.%d:5000\"", 2+n)
		}
		peers.WriteString("]\n")
	}
	s := opened(t, "[paths]\n", "[paths]\nlocal = [\"srdw0\", \"srdv0\"]\n", "[[peer]]\nname = \"named\"", peers.String()+"[[peer]]\nname = \"named\"", "localhost:5998", "198.51.100.2:5998")
	bypassed := func(rounds int) bool {
		for range rounds {
			s.change()
			s.endpoints.checkRoutes()
		}
		return s.endpoints.conditions[condition{kind: events.UplinkBypassed, subject: "srdv0"}]
	}
	for round := range 4 {
		if bypassed(1) {
			t.Errorf("reported after %d rounds: %q", round+1, s.endpoints.faults.all())
		}
	}
	ip(t, "route", "del", "198.51.100.0/24", "dev", "srdv0")
	if bypassed(1) {
		t.Error("reported before all endpoints were checked")
	}
	if !bypassed(2) {
		t.Error("not reported after all endpoints were checked")
	}
	ip(t, "route", "add", "198.51.100.0/24", "dev", "srdv0")
	if bypassed(3) {
		t.Errorf("reported with a route again: %q", s.endpoints.faults.all())
	}
}
