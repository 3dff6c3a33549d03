package e2e

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestNATRebinding puts host A behind a NAT that maps each of its ports to another port. Under
// load, the NAT then forgets all mappings, and creates new ones. B learns A's addresses only from
// A's packets.
func TestNATRebinding(t *testing.T) {
	f := network(t, fabric.Spec{})
	translate(t, f.A(1), "20000-29999")
	passive(t, f.A(1), f.B(1), 0)
	beat, err := meter.StartHeartbeat(f.A(1), f.B(1), tunnel.Inner4(1), tunnel.Inner4(2))
	must(t, err)
	defer beat.Close()
	fl := flow(f, 1)
	fl.For = 6 * time.Second
	load, err := meter.Start(fl)
	must(t, err)
	defer load.Stop()
	time.Sleep(2 * time.Second)
	translate(t, f.A(1), "40000-49999")
	from := time.Now()
	took, err := beat.AnswerAfter(from, 30*time.Second)
	must(t, err)
	t.Logf("an answer %.2f s after all ports changed", took.Seconds())
	if took > maxMove {
		t.Errorf("an answer after %v, want at most %v", took, maxMove)
	}
	must(t, load.Wait())
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
}

// maxConnect bounds the time to connect through a tunnel whose NAT has forgotten all its mappings.
// The loss of a SYN packet would take a second.
const maxConnect = 200 * time.Millisecond

// idleAfter is the time after which a daemon no longer probes its paths.
const idleAfter = 12 * time.Second

// TestNATForgetsWithKeepalive lets the NAT give new ports to an idle tunnel with keepalives. After
// the next keepalive, B can reach host A.
func TestNATForgetsWithKeepalive(t *testing.T) {
	side(t)
	const keepalive = 3 * time.Second
	f := network(t, fabric.Spec{})
	translate(t, f.A(1), "20000-29999")
	p := passive(t, f.A(1), f.B(1), keepalive)
	time.Sleep(idleAfter)
	for i := range 3 {
		translate(t, f.A(1), fmt.Sprintf("%d-%d", 30000+5000*i, 34999+5000*i))
		time.Sleep(keepalive + time.Second)
		took := connect(t, f.A(1), f.B(1), tunnel.Inner4(1))
		if t.Logf("B connects to A in %v", took); took > maxConnect {
			t.Errorf("want at most %v", maxConnect)
		}
	}
	// A port of the NAT may by chance equal one of this end's ports.
	netcheckThere(t, p.A, p.B, `ok +ports on the way +the peer sees 10\.[0-9.]+:4\d{4} and \d+ more addresses and ports that this end does not have; [0-3] are`)
}

// TestNATForgetsAnIdleTunnel lets the NAT give new ports to an idle tunnel. Host A's next packet
// must get its answer immediately.
func TestNATForgetsAnIdleTunnel(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	translate(t, f.A(1), "20000-29999")
	passive(t, f.A(1), f.B(1), 0)
	for i := range 5 {
		time.Sleep(2 * time.Second)
		if i == 0 {
			time.Sleep(idleAfter)
		}
		translate(t, f.A(1), fmt.Sprintf("%d-%d", 30000+5000*i, 34999+5000*i))
		took := connect(t, f.B(1), f.A(1), tunnel.Inner4(2))
		if t.Logf("A connects to B in %v", took); took > maxConnect {
			t.Errorf("want at most %v", maxConnect)
		}
	}
}

// connect returns the time that a client takes to connect to an address of a server.
func connect(t *testing.T, server, client *fabric.Host, to netip.Addr) time.Duration {
	t.Helper()
	l, err := server.Listen("tcp", netip.AddrPortFrom(to, 0).String())
	must(t, err)
	defer l.Close()
	from := time.Now()
	c, err := client.Dial("tcp", l.Addr().String(), 20*time.Second)
	must(t, err)
	defer c.Close()
	return time.Since(from)
}

// translate makes h replace the source ports of its UDP packets by ports from the range `ports`,
// and removes all earlier mappings.
func translate(t *testing.T, h *fabric.Host, ports string) {
	t.Helper()
	rules := fmt.Sprintf(`table ip nat { chain out { type nat hook postrouting priority srcnat; meta l4proto udp oifname != "lo" masquerade to :%s random; }; }`, ports)
	command(t, h, "nft", "add table ip nat; delete table ip nat; "+rules)
	if err := h.Do(func() error { return netlink.ConntrackTableFlush(netlink.ConntrackTable) }); err != nil {
		t.Fatal("conntrack: ", err)
	}
}
