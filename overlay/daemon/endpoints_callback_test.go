package daemon

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// opened returns a server after its setup that does not run.
func opened(t *testing.T, oldnew ...string) *server {
	t.Helper()
	t.Setenv(rundir.Env, t.TempDir())
	s := newServer(parse(t, oldnew...), newEventLog(false))
	s.stop = func() {}
	must(t, s.open())
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.sessions.loop.Run(over) // the loop closes its descriptors only at the end of Run
		if err := s.close(); err != nil {
			t.Error(err)
		}
		s.sockets.bank.Close()
	})
	return s
}

// uplink makes a device with a default route for both families. Its only IPv6 address is the
// link-local one.
func uplink(t *testing.T) netlink.Link {
	t.Helper()
	l := addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdw0"}, PeerName: "srdw1"})
	if other, err := netlink.LinkByName("srdw1"); err != nil {
		t.Fatal(err)
	} else if err := netlink.LinkSetUp(other); err != nil {
		t.Fatal(err)
	}
	a, _ := netlink.ParseAddr("192.0.2.1/24")
	must(t, netlink.AddrAdd(l, a))
	for _, gw := range []string{"192.0.2.254", "fe80::1"} {
		must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: net.ParseIP(gw)}))
	}
	return l
}

// change reads the host's addresses and routes again, as follow() does after the kernel has
// reported a change.
func (s *server) change() {
	s.uplinks.interfaces.load()
	s.uplinks.host.look(s.uplinks.interfaces.all())
}

// If the tunnel's address is the host's only global IPv6 address, the host has no IPv6 source
// address for outer packets. This is so even if the kernel would choose the tunnel's address for a
// route, or if ::/0 is routed into the tunnel.
func TestTunnelAddressesAreNoSource(t *testing.T) {
	uplink(t)
	for name, change := range map[string][]string{
		"routed": nil,
		"full":   {`"10.81.0.0/16", "fd81::/64"`, `"0.0.0.0/0", "::/0"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, change...)
			link, err := netlink.LinkByName("srdd0")
			must(t, err)
			extra, _ := netlink.ParseAddr("fd82::1/64") // added by hand; the configuration does not have it
			extra.Flags = unix.IFA_F_NODAD
			must(t, netlink.AddrAdd(link, extra))
			s.change()
			for _, to := range []string{"[2001:db8::1]:1", "[fd80::2]:1", "[fd82::2]:1", "10.80.0.2:1", "[2001:db8:1::1]:1"} {
				for _, u := range s.uplinks.sourcesFor(netip.MustParseAddrPort(to)) {
					if a := u.Addr(); s.uplinks.interfaces.inner(a) || a.String() == "fd80::1" || a.String() == "fd82::1" || a.String() == "10.80.0.1" {
						t.Errorf("to %s it sends from %s", to, a)
					}
				}
			}
			if v := s.uplinks.sourcesFor(netip.MustParseAddrPort("198.51.100.1:1")); len(change) == 0 && (len(v) != 1 || v[0].String() != "192.0.2.1") {
				t.Errorf("to an outer address it sends from %v", v)
			}
		})
	}
}

// When this host's address or only the route to the peer changes, this host sends handshakes to the
// peer's validated address. It sends none there when the peer's own address changes, or to an
// endpoint, which gets handshakes in any case.
func TestCalledBackFromANewAddress(t *testing.T) {
	l := uplink(t)
	s := opened(t)
	p := s.running.peers()[0]
	at := netip.MustParseAddrPort("198.51.100.7:4444")
	known := []netip.AddrPort{at, netip.MustParseAddrPort("198.51.100.7:4445"), netip.MustParseAddrPort("127.0.0.1:9")}
	paths := []srd.PathInfo{{State: srd.PathActive, Tuple: srd.Tuple{Local: srd.UplinkOf(netip.MustParseAddr("192.0.2.1"), 0), Remote: at}}}
	s.change()
	want := func(what string, local string, paths []srd.PathInfo) {
		t.Helper()
		v, aside := s.endpoints.callbackTuples(p, known, paths)
		if (len(v) == 0) != (local == "") {
			t.Errorf("%s: called on %v", what, v)
		}
		comes := local == "" && len(s.uplinks.sourcesFor(at)) > 0
		if len(aside) > standbyMost || (len(aside) > 0) != comes {
			t.Errorf("%s: beside its own paths on %v", what, aside)
		}
		for _, u := range aside {
			if u.Local != paths[0].Tuple.Local || u.Remote.Addr() != at.Addr() {
				t.Errorf("%s: beside its own paths on %v", what, u)
			}
		}
		slices.Reverse(known) // as if heard from another address last
		if _, again := s.endpoints.callbackTuples(p, known, paths); !slices.Equal(again, aside) {
			t.Errorf("%s: beside its own paths on %v, and then on %v", what, aside, again)
		}
		var ports, socks []int
		for _, u := range v {
			if u.Local.String() != local || u.Remote.Addr() != at.Addr() {
				t.Errorf("%s: called on %v", what, u)
			}
			ports, socks = append(ports, int(u.Remote.Port())), append(socks, int(u.Sock))
		}
		slices.Sort(ports)
		slices.Sort(socks)
		if local != "" && (!slices.Equal(slices.Compact(ports), []int{4444, 4445}) || len(slices.Compact(socks)) != s.sockets.bank.Len() || len(v) > s.sockets.bank.Len()) {
			t.Errorf("%s: from sockets %v to ports %v", what, socks, ports)
		}
	}
	want("nothing changed", "", paths)
	old, _ := netlink.ParseAddr("192.0.2.1/24")
	must(t, netlink.AddrDel(l, old))
	s.change()
	want("no address", "", paths)
	a, _ := netlink.ParseAddr("192.0.2.99/24")
	must(t, netlink.AddrAdd(l, a))
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: net.ParseIP("192.0.2.254")}))
	s.change()
	want("another address", "192.0.2.99", paths)
	s.change()
	want("and once more", "192.0.2.99", nil)
	known = nil // the session has ended
	s.change()
	want("without a session", "192.0.2.99", nil)
	p.remote.callback.pairs = nil
	paths[0].Tuple.Local = srd.UplinkOf(netip.MustParseAddr("192.0.2.99"), 0)
	s.change()
	want("it works from there", "", paths)
	paths[0].State = srd.PathDown
	s.change()
	want("it does not", "192.0.2.99", paths)
}

// If this host does not have an address of paths.local, the daemon reports this once. It also
// reports once when the address is back.
func TestMissingAddressIsTold(t *testing.T) {
	l := uplink(t)
	s := opened(t, "[paths]\n", "[paths]\nlocal = [\"192.0.2.1\"]\n")
	a, _ := netlink.ParseAddr("192.0.2.1/24")
	for range 2 {
		must(t, netlink.AddrDel(l, a))
		for range 3 {
			s.change()
			s.endpoints.reportLocals()
		}
		if v := s.uplinks.sourcesFor(netip.MustParseAddrPort("192.0.2.254:1")); len(v) != 0 {
			t.Errorf("it sends from %v", v)
		}
		must(t, netlink.AddrAdd(l, a))
		s.change()
		s.endpoints.reportLocals()
		if v := s.uplinks.sourcesFor(netip.MustParseAddrPort("192.0.2.254:1")); len(v) != 1 {
			t.Errorf("it sends from %v", v)
		}
	}
	said := texts(s.log)
	if len(said) != 4 || !strings.Contains(said[0], "not an address of this host") || !strings.HasPrefix(said[1], "local-back") {
		t.Errorf("said %q, want one line for each change", said)
	}
}
