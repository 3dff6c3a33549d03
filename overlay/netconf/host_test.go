package netconf

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// host moves the test to a separate network namespace, on a locked thread. In it, lo is up, and the
// uplink eth0 has a default route. The thread ends with the test, and the namespace with the
// thread.
func host(t *testing.T) {
	t.Helper()
	t.Setenv(rundir.Env, t.TempDir())
	network(t)
}

// network is like host, but does not set the run directory.
func network(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	must(t, unix.Unshare(unix.CLONE_NEWNET))
	lo, err := netlink.LinkByName("lo")
	must(t, err)
	must(t, netlink.LinkSetUp(lo))
	eth := addLink(t, "eth0")
	must(t, netlink.LinkSetUp(eth))
	addAddress(t, eth, "192.0.2.2/24")
	addAddress(t, eth, "2001:db8::2/64")
	for _, r := range []string{"0.0.0.0/0 192.0.2.1", "::/0 2001:db8::1"} {
		dst, gw, _ := strings.Cut(r, " ")
		must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: eth.Attrs().Index,
			Dst: ipNet(netip.MustParsePrefix(dst)), Gw: netip.MustParseAddr(gw).AsSlice()}))
	}
}

// addLink makes a veth pair and sets the far end up, so that the near end can go up.
func addLink(t *testing.T, name string) netlink.Link {
	t.Helper()
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}))
	far, err := netlink.LinkByName(name + "p")
	must(t, err)
	must(t, netlink.LinkSetUp(far))
	link, err := netlink.LinkByName(name)
	must(t, err)
	return link
}

func addAddress(t *testing.T, link netlink.Link, prefix string) {
	t.Helper()
	must(t, addressStep{link: link, prefix: netip.MustParsePrefix(prefix)}.do(new(netlink.Handle)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func stateFile(t *testing.T, name string) string {
	t.Helper()
	path, err := StatePath(name)
	must(t, err)
	return path
}

// snapshot lists all addresses, routes, rules and link settings of the
// namespace, one line each, sorted.
func snapshot(t *testing.T) []string {
	t.Helper()
	var out []string
	links, err := netlink.LinkList()
	must(t, err)
	for _, l := range links {
		a := l.Attrs()
		out = append(out, fmt.Sprintf("link %s mtu %d up %v", a.Name, a.MTU, a.RawFlags&unix.IFF_UP != 0))
	}
	for _, f := range families {
		addrs, err := netlink.AddrList(nil, f)
		must(t, err)
		for _, a := range addrs {
			if !a.IP.IsLinkLocalUnicast() {
				out = append(out, fmt.Sprintf("addr %s on %s", a.IPNet, linkName(new(netlink.Handle), a.LinkIndex)))
			}
		}
		rules, err := netlink.RuleList(f)
		must(t, err)
		for _, r := range rules {
			out = append(out, fmt.Sprintf("rule %d family %d table %d mark %#x invert %v suppress %d",
				r.Priority, f, r.Table, r.Mark, r.Invert, r.SuppressPrefixlen))
		}
		routes, err := netlink.RouteListFiltered(f, &netlink.Route{Table: 0}, netlink.RT_FILTER_TABLE)
		must(t, err)
		for _, r := range routes {
			if r.Table == 255 || r.Dst != nil && r.Dst.IP.IsLinkLocalUnicast() {
				continue // added by the kernel
			}
			out = append(out, fmt.Sprintf("route %s via %v on %s table %d", r.Dst, r.Gw, linkName(new(netlink.Handle), r.LinkIndex), r.Table))
		}
	}
	sort.Strings(out)
	return out
}

// wantChange checks which lines were added to the snapshot `before`, and which were removed.
func wantChange(t *testing.T, before []string, added, removed []string) {
	t.Helper()
	after := snapshot(t)
	missing := func(a, b []string) (out []string) {
		for _, l := range a {
			if !slices.Contains(b, l) {
				out = append(out, l)
			}
		}
		return out
	}
	sort.Strings(added)
	if got := missing(after, before); !slices.Equal(got, added) {
		t.Errorf("added:\n %s\nwant:\n %s", strings.Join(got, "\n "), strings.Join(added, "\n "))
	}
	if got := missing(before, after); !slices.Equal(got, removed) {
		t.Errorf("removed:\n %s\nwant:\n %s", strings.Join(got, "\n "), strings.Join(removed, "\n "))
	}
}

func wantNoFile(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state file %s: %v, want it gone", path, err)
	}
}
