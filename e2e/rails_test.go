package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// rails connects two hosts by two cables in separate subnets, without a gateway. Both ends name
// both interfaces, and both addresses of the other end.
func rails(t *testing.T, more ...netip.AddrPort) (d *fabric.Direct, a, b *tunnel.Node) {
	t.Helper()
	d = direct(t, fabric.DirectSpec{Links: 2})
	prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)} }
	at := func(h *fabric.Host) (v []netip.AddrPort) {
		for _, addr := range h.V4 {
			v = append(v, netip.AddrPortFrom(addr, tunnel.DefaultPort))
		}
		return v
	}
	both := []string{"eth0", "eth1"}
	a, b = node(t, d.A, "a", tunnel.Config{Address: prefix(1), Interfaces: both}), node(t, d.B, "b", tunnel.Config{Address: prefix(2), Interfaces: both})
	a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, AllowedIPs: prefix(2), Endpoints: append(at(d.B), more...)}}
	b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: prefix(1), Endpoints: at(d.A)}}
	for _, n := range []*tunnel.Node{b, a} {
		must(t, n.Start())
	}
	must(t, a.Await(tunnel.Inner4(2)))
	return d, a, b
}

// railPaths returns the number of paths in a state for each pair of an interface and an address.
func railPaths(t *testing.T, n *tunnel.Node, state string) map[string]int {
	t.Helper()
	var status struct {
		Peers []struct {
			Paths []struct{ Interface, Remote, State string }
		}
	}
	shown, err := n.Show()
	must(t, err)
	must(t, json.Unmarshal(shown, &status))
	v := map[string]int{}
	for _, p := range status.Peers[0].Paths {
		if p.State == state {
			v[p.Interface+" to "+netip.MustParseAddrPort(p.Remote).Addr().String()]++
		}
	}
	return v
}

// lacks is the contrary of wants.
func lacks(t *testing.T, what, out, not string) {
	t.Helper()
	if strings.Contains(out, not) {
		t.Errorf("%s says %q, want no %q", what, out, not)
	}
}

// TestRailsAreNoFault connects two hosts by two rails. Each interface reaches one endpoint of the
// peer, which is no fault. Paths must not begin on one rail and end on the other.
func TestRailsAreNoFault(t *testing.T) {
	side(t)
	d, a, b := rails(t)
	want := [2]string{"eth0 to " + d.B.V4[0].String(), "eth1 to " + d.B.V4[1].String()}
	await(t, "paths over both rails", func() bool {
		_, _ = d.A.Run("ping", "-c", "20", "-i", "0.01", "-W", "1", tunnel.Inner4(2).String())
		v := railPaths(t, a, "active")
		return v[want[0]] > 8 && v[want[1]] > 8
	})
	for _, state := range []string{"active", "suspect", "down", "candidate"} {
		for between, n := range railPaths(t, a, state) {
			if between != want[0] && between != want[1] {
				t.Errorf("%d paths from %s are %s", n, between, state)
			}
		}
	}
	for _, n := range []*tunnel.Node{a, b} {
		if out := health(t, n); !strings.HasPrefix(out, n.Name+": ok: ") {
			t.Error(out)
		}
		lacks(t, "show", cli(t, n.Host, "show", n.Name), "fault:")
		lacks(t, "events", cli(t, n.Host, "events", n.Name), "uplink-bypassed")
	}
}

// TestRailDownIsNamed takes one of two rails down. Both ends must name their own interface of this
// rail and the true reason, and blame no path of the healthy rail.
func TestRailDownIsNamed(t *testing.T) {
	side(t)
	d, a, b := rails(t)
	for _, n := range []*tunnel.Node{a, b} {
		await(t, "both uplinks", func() bool { return strings.Count(n.Log(), "uplink-up: ") == 2 })
	}
	do(t, d.B, "ip link set eth1 down")
	for _, end := range []struct {
		n      *tunnel.Node
		reason string
	}{{b, "eth1 is down"}, {a, "eth1 has no carrier"}} {
		await(t, end.reason, func() bool {
			out := health(t, end.n)
			lacks(t, "show --check", out, "eth0")
			return strings.Contains(out, " is degraded: paths.local: "+end.reason) && strings.HasSuffix(out, "exit 4\n")
		})
		wants(t, "show", cli(t, end.n.Host, "show", end.n.Name), "fault: paths.local: "+end.reason)
		for between, n := range railPaths(t, end.n, "active") {
			if strings.HasPrefix(between, "eth1") {
				t.Errorf("%s: %d paths from %s are active", end.n.Name, n, between)
			}
		}
		await(t, "event", func() bool {
			_, _ = d.A.Run("ping", "-c", "20", "-i", "0.01", "-W", "1", tunnel.Inner4(2).String())
			out := cli(t, end.n.Host, "events", end.n.Name)
			return regexp.MustCompile(`uplink-down: uplink 10\.1\.2\.\d \(eth1\): ` + end.reason + "\n").MatchString(out)
		})
		out := health(t, end.n)
		lacks(t, "show --check", out, "eth0")
		lacks(t, "show --check", out, "no route")
	}
	do(t, d.B, "ip link set eth1 up")
	await(t, "health again", func() bool {
		_, _ = d.A.Run("ping", "-c", "20", "-i", "0.01", "-W", "1", tunnel.Inner4(2).String())
		return strings.HasPrefix(health(t, a), a.Name+": ok: ") && strings.HasPrefix(health(t, b), b.Name+": ok: ")
	})
}

// TestEndpointWithoutUplinkIsNamed gives an end a further endpoint of its peer. No interface of
// paths.local has a route to it, until there is one.
func TestEndpointWithoutUplinkIsNamed(t *testing.T) {
	side(t)
	const far = "198.51.100.9"
	d, a, _ := rails(t, netip.MustParseAddrPort(far+":51820"))
	want := fmt.Sprintf("peer b: no uplink reaches its endpoint %s:51820: eth0 has no route to %[1]s; give it one", far)
	await(t, "line of show --check", func() bool {
		out := health(t, a)
		return strings.Contains(out, " is degraded: "+want) && strings.HasSuffix(out, "exit 4\n")
	})
	wants(t, "show", cli(t, d.A, "show", a.Name), "fault: "+want)
	wants(t, "events", cli(t, d.A, "events", a.Name), "no-way: "+want)
	wants(t, "show --json", cli(t, d.A, "show", "--json", a.Name), `"no_way": ""`)
	do(t, d.B, "ip addr add "+far+"/32 dev lo")
	do(t, d.A, "ip route add "+far+" via 10.1.2.2")
	await(t, "end of the fault", func() bool { return strings.HasPrefix(health(t, a), a.Name+": ok: ") })
	wants(t, "events", cli(t, d.A, "events", a.Name), "way-back: peer b: its endpoint "+far+":51820 can be reached again")
}
