package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// secondUplink gives A(1) another cable to its leaf, eth1. A default route by eth1 may exist, but
// the routing table never prefers it.
func secondUplink(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	a := f.A(1)
	for _, cmd := range [][]string{
		{"link", "add", "eth1", "type", "veth", "peer", "name", "second", "netns", f.LeafA.Name},
		{"addr", "add", "10.1.200.2/24", "dev", "eth1"},
		{"addr", "add", "fd00:1:0:200::2/64", "dev", "eth1", "nodad"},
		{"link", "set", "eth1", "up"},
	} {
		command(t, a, "ip", cmd...)
	}
	for _, cmd := range [][]string{
		{"addr", "add", "10.1.200.1/24", "dev", "second"},
		{"addr", "add", "fd00:1:0:200::1/64", "dev", "second", "nodad"},
		{"link", "set", "second", "up"},
	} {
		command(t, f.LeafA, "ip", cmd...)
	}
}

func secondRoutes(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	for _, via := range []string{"10.1.200.1", "fd00:1:0:200::1"} {
		command(t, f.A(1), "ip", "route", "add", "default", "via", via, "dev", "eth1", "metric", "5000")
	}
}

// sentBytes returns the number of bytes that A(1) has sent by a device.
func sentBytes(t *testing.T, f *fabric.Fabric, dev string) uint64 {
	t.Helper()
	out := command(t, f.A(1), "ip", "-s", "-j", "link", "show", dev)
	var v []struct {
		Stats64 struct{ Tx struct{ Bytes uint64 } }
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || len(v) != 1 {
		t.Fatalf("%s: %v", out, err)
	}
	return v[0].Stats64.Tx.Bytes
}

// TestTwoUplinksWithoutRules uses two interfaces in paths.local without policy routing. Both
// interfaces must carry traffic, and the log must name an interface without a route.
func TestTwoUplinksWithoutRules(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("IPv6=%v", v6), func(t *testing.T) {
			f := network(t, fabric.Spec{})
			secondUplink(t, f)
			a := node(t, f.A(1), "a", tunnel.Config{Address: inner(1), Interfaces: []string{"eth0", "eth1"}})
			b := node(t, f.B(1), "b", tunnel.Config{Address: inner(2)})
			at := netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort)
			if v6 {
				at = netip.AddrPortFrom(f.B(1).Addr6(), tunnel.DefaultPort)
			}
			a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, Endpoints: []netip.AddrPort{at}, AllowedIPs: inner(2)}}
			b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: inner(1)}}
			for _, n := range []*tunnel.Node{b, a} {
				must(t, n.Start())
			}
			must(t, a.Await(tunnel.Inner4(2)))
			await(t, "a line that says that eth1 has no route", func() bool { return strings.Contains(a.Log(), "eth1 has no route to "+at.Addr().String()) })
			secondRoutes(t, f)
			// A new route is an event that makes the daemon try abandoned paths again.
			second := 0
			await(t, "paths by eth1", func() bool { second = pathsFrom(t, a, "10.1.200.2", "fd00:1:0:200::2"); return second > 0 })
			before := [2]uint64{sentBytes(t, f, "eth0"), sentBytes(t, f, "eth1")}
			got := iperf(t, f, tunnel.Inner4(2))
			by := [2]uint64{sentBytes(t, f, "eth0") - before[0], sentBytes(t, f, "eth1") - before[1]}
			t.Logf("%d paths by eth1; %d and %d bytes", second, by[0], by[1])
			if least := (by[0] + by[1]) / 5; by[0] < least || by[1] < least || got.Forward < 100e6 {
				t.Errorf("want a fifth at least by each, and 100 Mbit/s")
			}
		})
	}
}

// inner returns the addresses of node i inside the tunnel.
func inner(i int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 32), netip.PrefixFrom(tunnel.Inner6(i), 128)}
}

// awaitMost bounds the waiting time of await. The events take a second or two.
const awaitMost = 40 * time.Second

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(awaitMost); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %v", what, awaitMost)
		}
	}
}

// pathsFrom counts the paths in use from one of these addresses.
func pathsFrom(t *testing.T, n *tunnel.Node, local ...string) int {
	t.Helper()
	return pathsInUse(t, n, func(p pathStatus) bool {
		return slices.ContainsFunc(local, func(l string) bool { return strings.Contains(p.Local, l) })
	})
}

// pathsBy counts the paths in use by an interface, in the output of "srdtun show".
func pathsBy(t *testing.T, n *tunnel.Node, name string) int {
	t.Helper()
	return pathsInUse(t, n, func(p pathStatus) bool { return p.Interface == name })
}

type pathStatus struct{ Interface, Local, State string }

func pathsInUse(t *testing.T, n *tunnel.Node, is func(pathStatus) bool) (count int) {
	t.Helper()
	var status struct {
		Peers []struct{ Paths []pathStatus }
	}
	statusOf(t, n, &status)
	for _, p := range status.Peers[0].Paths {
		if p.State == "active" && is(p) {
			count++
		}
	}
	return count
}
