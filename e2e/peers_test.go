package e2e

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// star starts a hub on hB1 (node 1), and spokes on hA1 and hA2 (nodes 2 and 3).
func star(t *testing.T) (f *fabric.Fabric, hub, one, two *tunnel.Node) {
	t.Helper()
	f = network(t, fabric.Spec{HostsA: 2})
	nodes, err := tunnel.NewStar(bin, f.B(1), f.A(1), f.A(2))
	for _, n := range nodes {
		cleanUp(t, n)
	}
	must(t, err)
	return f, nodes[0], nodes[1], nodes[2]
}

func TestSeveralPeers(t *testing.T) {
	side(t)
	_, hub, one, two := star(t)
	for _, c := range []struct {
		from *tunnel.Node
		to   netip.Addr
	}{{hub, tunnel.Inner4(2)}, {hub, tunnel.Inner4(3)}, {one, tunnel.Inner6(1)}, {two, tunnel.Inner6(1)}} {
		if err := c.from.Await(c.to); err != nil {
			t.Error(err)
		}
	}
	// A failed spoke must not affect the other spoke.
	one.Kill()
	if err := two.Await(tunnel.Inner4(1)); err != nil {
		t.Error(err)
	}
}

// drops returns the number of packets that a node dropped because of a forged source address, and
// the text of all drops.
func drops(t *testing.T, n *tunnel.Node) (forged uint64, all string) {
	t.Helper()
	raw, err := n.Show()
	must(t, err)
	var status struct {
		Drops map[string]uint64 `json:"drops"`
		Peers []struct {
			Drops map[string]uint64 `json:"drops"`
		} `json:"peers"`
	}
	must(t, json.Unmarshal(raw, &status))
	reasons := []map[string]uint64{status.Drops}
	for _, p := range status.Peers {
		reasons = append(reasons, p.Drops)
	}
	for _, m := range reasons {
		for reason, count := range m {
			if strings.Contains(reason, "source") || strings.Contains(reason, "allowed") {
				forged += count
			}
		}
	}
	return forged, string(raw)
}

// TestForgedSourceIsDropped lets spoke one send packets with the address of spoke two.
func TestForgedSourceIsDropped(t *testing.T) {
	side(t)
	const packets = 20
	f, hub, one, _ := star(t)
	in, err := f.B(1).ListenPacket("udp", netip.AddrPortFrom(tunnel.Inner4(1), 7000).String())
	must(t, err)
	defer in.Close()
	command(t, one.Host, "ip", "addr", "add", tunnel.Inner4(3).String()+"/32", "dev", one.Name)
	before, _ := drops(t, hub)
	// The honest datagram after the forged datagrams shows that packets can arrive.
	for _, s := range []struct {
		from  netip.Addr
		count int
	}{{tunnel.Inner4(3), packets}, {tunnel.Inner4(2), 1}} {
		out, err := f.A(1).ListenPacket("udp", netip.AddrPortFrom(s.from, 0).String())
		must(t, err)
		defer out.Close()
		for range s.count {
			if _, err := out.WriteTo([]byte("hello"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(tunnel.Inner4(1), 7000))); err != nil {
				t.Fatal(err)
			}
		}
	}
	heard := listen(t, in)
	if heard[tunnel.Inner4(3)] != 0 || heard[tunnel.Inner4(2)] != 1 {
		t.Errorf("the hub heard %v, want one datagram, from the honest address", heard)
	}
	after, status := drops(t, hub)
	t.Logf("%d of %d forged packets counted", after-before, packets)
	if after-before != packets {
		t.Errorf("counted %d, want %d\n%s", after-before, packets, status)
	}
}

// listen counts datagrams by source address until none has arrived for half a second.
func listen(t *testing.T, in net.PacketConn) map[netip.Addr]int {
	t.Helper()
	heard := map[netip.Addr]int{}
	buf := make([]byte, 100)
	for {
		must(t, in.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
		_, from, err := in.ReadFrom(buf)
		if err != nil {
			return heard
		}
		heard[from.(*net.UDPAddr).AddrPort().Addr().Unmap()]++
	}
}
