package daemon

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
)

// The event of an uplink that went down has the true reason.
func TestLostUplinkHasItsReason(t *testing.T) {
	for cut, want := range map[string]string{
		"":                                       "no path from it works",
		"link set srdv0 down":                    "srdv0 is down",
		"link set srdv1 down":                    "srdv0 has no carrier",
		"addr del 198.51.100.1/24 dev srdv0":     "this host no longer has this address",
		"link del srdv0":                         "its interface does not exist any more",
		"addr replace 198.51.100.1/24 dev srdw0": "the interface no longer has this address",
	} {
		t.Run(want, func(t *testing.T) {
			uplink(t)
			ip(t, "link", "add", "srdv0", "type", "veth", "peer", "name", "srdv1")
			t.Cleanup(func() {
				if l, err := netlink.LinkByName("srdv0"); err == nil {
					must(t, netlink.LinkDel(l))
				}
			})
			for _, name := range []string{"srdv1", "srdv0"} {
				ip(t, "link", "set", name, "up")
			}
			ip(t, "addr", "add", "198.51.100.1/24", "dev", "srdv0")
			link, err := net.InterfaceByName("srdv0")
			must(t, err)
			s := opened(t, "[paths]\n", "[paths]\nlocal = [\"srdw0\", \"srdv0\"]\n", "127.0.0.1:5999", "203.0.113.9:5999")
			u := srd.UplinkOf(netip.MustParseAddr("198.51.100.1"), uint32(link.Index))
			works := map[srd.Uplink]bool{srd.UplinkOf(netip.MustParseAddr("192.0.2.1"), 1): true}
			lost := map[srd.Uplink]bool{u: true}
			s.change()
			s.observer.tellUplinks(map[srd.Uplink]bool{u: true}, nil)
			if cut != "" {
				ip(t, strings.Fields(cut)...)
			}
			if strings.HasPrefix(cut, "addr replace") {
				ip(t, "addr", "del", "198.51.100.1/24", "dev", "srdv0")
			}
			var got string
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && !strings.HasPrefix(got, "uplink-down "); time.Sleep(time.Millisecond) {
				if s.change(); strings.Contains(want, "carrier") && s.uplinks.interfaces.fault(u) == "" {
					continue // the kernel reports it a moment later
				}
				no := map[srd.Uplink]bool{}
				if s.uplinks.has(u) {
					no = lost
				}
				s.observer.tellUplinks(works, no)
				all := texts(s.log)
				got = all[len(all)-1]
			}
			if !strings.HasPrefix(got, "uplink-down ") || !strings.HasSuffix(got, ": "+want) {
				t.Errorf("told %q, want %q", got, want)
			}
		})
	}
}
