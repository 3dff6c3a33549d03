package udp

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/srd"
)

// uplinks gives a namespace two uplinks, each with a default route; the first one is
// preferred. Behind each uplink is a host that has every destination address.
func uplinks(t *testing.T, s *space, second ...string) (index [2]int, behind [2]*space) {
	t.Helper()
	for k, name := range []string{"up1", "up2"} {
		far := newSpace(t)
		s.Must(t, func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "far", PeerNamespace: netlink.NsPid(far.Thread())})
		})
		four, six := fmt.Sprintf("10.%d.0.", k+1), fmt.Sprintf("fd0%d::", k+1)
		far.address(t, "far", four+"1/24", six+"1/64")
		far.address(t, "lo", "192.0.2.9/32", "fd99::9/128")
		s.address(t, name, four+"2/24", six+"2/64")
		if k == 1 {
			s.address(t, name, second...)
		}
		s.Must(t, func() error {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			index[k] = l.Attrs().Index
			for all, via := range map[string]string{"0.0.0.0/0": four + "1", "::/0": six + "1"} {
				_, dst, _ := net.ParseCIDR(all)
				r := &netlink.Route{LinkIndex: index[k], Dst: dst, Gw: net.ParseIP(via), Priority: 100 * (k + 1)}
				if err := netlink.RouteAdd(r); err != nil {
					return err
				}
			}
			return nil
		})
		behind[k] = far
	}
	return index, behind
}

// With an exit, packets leave through its interface, although the routes prefer another.
// Without an exit, or from another address, they follow the routes.
func TestExit(t *testing.T) {
	for _, c := range []struct {
		name, local, remote string
		second              []string // further addresses of the second uplink
		exit, alone         bool
		by                  int // uplink through which the packet leaves
	}{
		{name: "IPv4 by the routes", local: "10.2.0.2", remote: "192.0.2.9", by: 0},
		{name: "IPv4", local: "10.2.0.2", remote: "192.0.2.9", exit: true, by: 1},
		{name: "IPv6 by the routes", local: "fd02::2", remote: "fd99::9", by: 0},
		{name: "IPv6", local: "fd02::2", remote: "fd99::9", exit: true, alone: true, by: 1},
		{name: "one of two IPv4 addresses", local: "10.2.0.3", remote: "192.0.2.9", second: []string{"10.2.0.3/24"}, exit: true, by: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpace(t)
			index, behind := uplinks(t, s, c.second...)
			b := s.open(t, Config{Ports: 1})
			far := behind[c.by].open(t, Config{Ports: 1})
			local := netip.MustParseAddr(c.local)
			exit := srd.UplinkOf(local, uint32(index[1]))
			if c.exit {
				b.SetExits([]Exit{{exit, c.alone}})
			}
			var stats SendStats
			tr := train(at(far, c.remote), 1, 500)
			tr.Tuple.Local = b.Uplink(srd.UplinkOf(local, 0))
			s.Must(t, func() error { NewSender(b, &stats).Send(tr); return nil })
			var r RecvStats
			if d := receive(t, NewReceiver(far, &r), fdFor(far, c.remote)); d.From.Addr() != local {
				t.Errorf("from %v, want %v", d.From.Addr(), local)
			}
		})
	}
}

// The lookup of an exit, which happens for each train, allocates no memory.
func TestExitAllocatesNothing(t *testing.T) {
	b := &Bank{}
	local := netip.MustParseAddr("fd02::2")
	b.SetExits([]Exit{{Uplink: srd.UplinkOf(netip.MustParseAddr("fd01::2"), 1)}, {srd.UplinkOf(local, 2), true}})
	if n := testing.AllocsPerRun(100, func() {
		if u := b.Uplink(srd.UplinkOf(local, 0)); u.Link() != 2 || !b.Alone(u) {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// sticks gives a namespace two interfaces with the same address, as two LTE sticks do.
// Each has a gateway with the same address, and a default route.
func sticks(t *testing.T, s *space) (index [2]uint32, behind [2]*space) {
	t.Helper()
	for k, name := range []string{"u1", "u2"} {
		far := newSpace(t)
		s.Must(t, func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "far", PeerNamespace: netlink.NsPid(far.Thread())})
		})
		far.address(t, "far", "192.168.8.1/24", "fd08::1/64")
		far.address(t, "lo", "192.0.2.9/32", "fd99::9/128")
		s.address(t, name, "192.168.8.100/24", "fd08::100/64")
		s.Must(t, func() error {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			index[k] = uint32(l.Attrs().Index)
			for all, via := range map[string]string{"0.0.0.0/0": "192.168.8.1", "::/0": "fd08::1"} {
				_, dst, _ := net.ParseCIDR(all)
				if err := netlink.RouteAdd(&netlink.Route{LinkIndex: int(index[k]), Dst: dst, Gw: net.ParseIP(via), Priority: 100 * (k + 1)}); err != nil {
					return err
				}
			}
			return nil
		})
		behind[k] = far
	}
	return index, behind
}

// Two interfaces have the same address. Packets leave through the interface of their
// uplink, and received packets are assigned to the right uplink.
func TestOneAddressAtTwoInterfaces(t *testing.T) {
	for _, c := range []struct{ local, remote string }{{"192.168.8.100", "192.0.2.9"}, {"fd08::100", "fd99::9"}} {
		s := newSpace(t)
		index, behind := sticks(t, s)
		b := s.open(t, Config{Ports: 1})
		local := netip.MustParseAddr(c.local)
		b.SetExits([]Exit{{srd.UplinkOf(local, index[0]), local.Is6()}, {srd.UplinkOf(local, index[1]), local.Is6()}})
		for _, k := range []int{0, 1, 0} {
			u := srd.UplinkOf(local, index[k])
			far := behind[k].open(t, Config{Ports: 1})
			tr := train(at(far, c.remote), 1, 500)
			tr.Tuple.Local = u
			s.Must(t, func() error { NewSender(b, new(SendStats)).Send(tr); return nil })
			d := receive(t, NewReceiver(far, new(RecvStats)), fdFor(far, c.remote))
			if d.From.Addr() != local {
				t.Errorf("from %v, want %v", d.From.Addr(), local)
			}
			tr = train(d.From, 1, 500)
			tr.Tuple.Local = d.Local
			behind[k].Must(t, func() error { NewSender(far, new(SendStats)).Send(tr); return nil })
			if d = receive(t, NewReceiver(b, new(RecvStats)), fdFor(b, c.local)); d.Local != u {
				t.Errorf("the answer came to %v, want %v", d.Local, u)
			}
		}
	}
}

// Packets at an address and an interface belong to these uplinks.
func TestUplinkOfAnArrival(t *testing.T) {
	of := func(addr string, link uint32) srd.Uplink { return srd.UplinkOf(netip.MustParseAddr(addr), link) }
	b := &Bank{}
	b.SetExits([]Exit{{Uplink: of("192.168.8.100", 1)}, {Uplink: of("192.168.8.100", 2)}, {Uplink: of("10.0.0.1", 3)}})
	for _, c := range []struct {
		what       string
		came, want srd.Uplink
	}{
		{"one of two", of("192.168.8.100", 2), of("192.168.8.100", 2)},
		{"two have it, and neither is where it came", of("192.168.8.100", 3), of("192.168.8.100", 0)},
		{"an answer that came by another interface", of("10.0.0.1", 1), of("10.0.0.1", 3)},
		{"an address of the file", of("10.0.0.1", 0), of("10.0.0.1", 3)},
		{"no exit has it", of("10.0.0.9", 3), of("10.0.0.9", 0)},
		{"link-local", of("fe80::1", 2), of("fe80::1", 2)},
	} {
		if got := b.Uplink(c.came); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
