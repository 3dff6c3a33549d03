package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// maxUnheard bounds the time until an application learns that a destination is unreachable. The
// kernel may ignore the answer to the first packet if it still holds the socket. The next packet is
// sent after a second.
const maxUnheard = 3 * time.Second

// wantUnreachable connects to an address. The connection must soon fail, as for a missing host.
func wantUnreachable(t *testing.T, from *fabric.Host, to netip.Addr) {
	t.Helper()
	begin := time.Now()
	c, err := from.Dial("tcp", netip.AddrPortFrom(to, 80).String(), 20*time.Second)
	if err == nil {
		c.Close()
		t.Errorf("from %s somebody answers at %v", from.Name, to)
	} else if took := time.Since(begin); !errors.Is(err, syscall.EHOSTUNREACH) || took > maxUnheard {
		t.Errorf("from %s to %v: %v after %v", from.Name, to, err, took)
	}
}

// TestNobodyThereIsHeard connects to addresses without a peer, and to addresses of a peer without
// an endpoint. The connections start on the daemon's host and on a host behind it, with a strict
// reverse path filter.
func TestNobodyThereIsHeard(t *testing.T) {
	d := direct(t, fabric.DirectSpec{})
	n := node(t, d.A, "a", tunnel.Config{
		Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24), netip.PrefixFrom(tunnel.Inner6(1), 64)},
	})
	n.Config.Peers = []tunnel.Peer{{Name: "roams", PublicKey: otherKey(t, n), AllowedIPs: []netip.Prefix{
		netip.PrefixFrom(tunnel.Inner4(2), 32), netip.PrefixFrom(tunnel.Inner6(2), 128),
	}}}
	must(t, n.Start())
	do(t, d.A, fmt.Sprintf(`ip addr add fd01::1/64 dev eth0 nodad
		sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.%s.rp_filter=1`, n.Name))
	do(t, d.B, `ip addr add fd01::2/64 dev eth0 nodad
		ip route add 10.9.0.0/24 via 10.1.1.1
		ip -6 route add fd09::/64 via fd01::1`)
	for _, from := range []*fabric.Host{d.A, d.B} {
		for _, host := range []int{2, 77} {
			wantUnreachable(t, from, tunnel.Inner4(host))
			wantUnreachable(t, from, tunnel.Inner6(host))
		}
	}
	var s control.Status
	if raw, err := n.Show(); err != nil || json.Unmarshal(raw, &s) != nil {
		t.Fatal(err)
	}
	if s.Drops["no_route"] < 4 || s.Peers[0].Drops["no_endpoint"] < 4 || s.Device.UnreachableSent < 8 {
		t.Errorf("not all is counted: %v, %v, %d answers", s.Drops, s.Peers[0].Drops, s.Device.UnreachableSent)
	}
}

// TestUnheardThroughAHub connects from a spoke to an address for which the hub has no peer. The
// ICMP answer crosses the tunnel.
func TestUnheardThroughAHub(t *testing.T) {
	f := network(t, fabric.Spec{})
	nodes, err := tunnel.NewStar(bin, f.A(1), f.B(1))
	for _, n := range nodes {
		cleanUp(t, n)
	}
	must(t, err)
	do(t, f.A(1), "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	wantUnreachable(t, f.B(1), tunnel.Inner4(77))
	wantUnreachable(t, f.B(1), tunnel.Inner6(77))
}

// otherKey returns the key of a peer without a host.
func otherKey(t *testing.T, n *tunnel.Node) string {
	t.Helper()
	out := command(t, n.Host, "sh", "-c", "'"+n.Bin+"' genkey | '"+n.Bin+"' pubkey")
	return string([]byte(out)[:44])
}

// TestCommandsTakeInnerAddresses selects a peer by its address inside the tunnel, and sets
// paths.local to a missing interface. The peer then leaves with a goodbye.
func TestCommandsTakeInnerAddresses(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p := passive(t, d.A, d.B, 0)
	a := func(want string, args ...string) {
		t.Helper()
		out, err := d.A.Run("sh", append([]string{"-c", `exec "$@" 2>&1`, "sh", bin}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %q without %q, %v", args, out, want, err)
		}
	}
	// A session that ends within a second after its start causes no event.
	for end := time.Now().Add(sayWait); !strings.Contains(p.A.Log(), "session-up: peer b: ") && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	a("b: seq=1 path", "ping", p.A.Name, tunnel.Inner4(2).String(), "-c", "1")
	a("b: seq=1 path", "ping", p.A.Name, tunnel.Inner6(2).String(), "-c", "1")
	a("(b)", "show", p.A.Name, "--peer", tunnel.Inner4(2).String())
	a("", "wait", p.A.Name, "--peer", tunnel.Inner4(2).String())
	a("~ peer.b.policy = \"spray\" -> \"ecmp\"\n", "set", p.A.Name, "peer."+tunnel.Inner4(2).String()+".policy=ecmp")
	a("nothing has changed\n", "set", p.A.Name, "peer.b.policy=ecmp")
	a("nosuchif has no address here", "set", p.A.Name, "paths.local=nosuchif")
	a("warning: paths.local: nosuchif has no address here", "set", p.A.Name, "paths.local=nosuchif,eth0")
	a("~ paths.local", "set", p.A.Name, "paths.local=")
	for _, show := range [][]string{{"show"}, {"show", "paths"}} {
		out, err := d.A.Run(bin, append(show, p.A.Name)...)
		if err != nil || meantDrop.MatchString(out) {
			t.Errorf("copies that were meant count as drops: %s, %v", out, err)
		}
	}
	left := says(t, p.A, "notice  session-ended: peer b: ")
	must(t, p.B.Down())
	left()
}

// meantDrop matches a line of drops with copies that were sent on purpose.
var meantDrop = regexp.MustCompile(`(?m)^ *drops: .*(duplicate_message|handshake_copy)`)

// TestRouterBehindAPeerIsTold uses a router behind B with an address that A does not allow for B.
// The router reports that packets are too large. A must drop these reports, and log the reason.
func TestRouterBehindAPeerIsTold(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p := passive(t, d.A, d.B, 0)
	must(t, p.A.Set("peer.b.allowed_ips=10.9.0.2/32,fd09::2/128,10.77.0.0/24"))
	// The route to 10.77.0.9 has a small MTU. B reports this from its address on that route's
	// interface.
	do(t, d.B, `sysctl -qw net.ipv4.ip_forward=1
		ip addr add 10.78.0.1/24 dev eth0
		ip route add 10.77.0.0/24 via 10.1.1.1 mtu lock 1000
		ip route add 10.9.0.1/32 dev `+p.B.Name+` src 10.78.0.1`)
	told := says(t, p.A, `notice  router-refused: peer b: dropped ICMP errors \(fragmentation needed\): their source 10\.78\.0\.1 is not in the peer's allowed_ips.*; traceroute and path MTU discovery behind the peer may fail; if connections hang there, lower interface.mtu, or limit the TCP MSS at the peer; if you know the router, you may add its address to allowed_ips`)
	if _, err := d.A.Run("ping", "-c", "3", "-i", "0.3", "-W", "1", "-s", "1200", "-M", "do", "10.77.0.9"); err == nil {
		t.Error("it passes")
	}
	told()
	for range 2 { // an identical report is only counted
		_, _ = d.A.Run("ping", "-c", "2", "-i", "0.3", "-W", "1", "-s", "1200", "-M", "do", "10.77.0.9")
	}
	if n := strings.Count(p.A.Log(), "router-refused"); n != 1 {
		t.Errorf("it is told %d times: %s", n, p.A.Log())
	}
}
