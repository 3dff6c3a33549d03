package ep_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd/ep"
)

// address gives a device of a namespace an address and brings it up.
func address(t *testing.T, s *netspace.Space, name, prefix string) {
	t.Helper()
	s.Must(t, func() error {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		ip, n, err := net.ParseCIDR(prefix)
		if err != nil {
			return err
		}
		n.IP = ip
		if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: n}); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	})
}

// sent returns how many bytes a device has sent.
func sent(t *testing.T, s *netspace.Space, name string) (n uint64) {
	t.Helper()
	s.Must(t, func() error {
		l, err := netlink.LinkByName(name)
		if err == nil {
			n = l.Attrs().Statistics.TxBytes
		}
		return err
	})
	return n
}

// A program on a host with two uplinks uses both, although the routes to the peer's one
// address prefer the first.
func TestTwoUplinks(t *testing.T) {
	ctx := background(t)
	host, far := netspace.New(t), netspace.New(t)
	for _, name := range []string{"up1", "up2"} {
		host.Must(t, func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name, PeerNamespace: netlink.NsPid(far.Thread())})
		})
	}
	address(t, host, "up1", "10.1.0.2/24")
	address(t, host, "up2", "10.2.0.2/24")
	address(t, far, "up1", "10.1.0.1/24")
	address(t, far, "up2", "10.2.0.1/24")
	address(t, far, "lo", "192.0.2.9/32")
	for i, via := range []string{"10.1.0.1", "10.2.0.1"} {
		host.Must(t, func() error {
			_, all, _ := net.ParseCIDR("0.0.0.0/0")
			return netlink.RouteAdd(&netlink.Route{Dst: all, Gw: net.ParseIP(via), Priority: 100 * (i + 1)})
		})
	}
	in := func(s *netspace.Space, cfg ep.Config) (e *ep.Endpoint) {
		s.Must(t, func() error { e = endpoint(t, cfg); return nil })
		return e
	}
	a := in(host, ep.Config{Local: []netip.Addr{netip.MustParseAddr("10.1.0.2"), netip.MustParseAddr("10.2.0.2")}})
	b := in(far, ep.Config{})
	post(t, b, 100, 50_000)
	allow(t, b, a)
	h, err := a.Handle(b.PublicKey(), netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), b.Port()))
	must(t, err)
	before := [2]uint64{sent(t, host, "up1"), sent(t, host, "up2")}
	const messages, size = 100, 50_000
	const least = messages * size / 5
	for range messages {
		must(t, a.Confirm(ctx, h, make([]byte, size), ep.SendOptions{}))
	}
	after := [2]uint64{sent(t, host, "up1"), sent(t, host, "up2")}
	if after[0]-before[0] < least || after[1]-before[1] < least {
		t.Errorf("bytes: %v before, %v after", before, after)
	}
}
