package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// Bounds on memory in bytes, as promised to users. The daemon takes a half or less of each.
const (
	maxIdle     = 25 << 20  // one peer, nothing to do
	maxThousand = 60 << 20  // a thousand peers, nothing to do
	maxLoaded   = 120 << 20 // one peer, all that the machine carries
)

// maxIdleCPU is the most of one core that an idle daemon may take.
const maxIdleCPU = 0.01

func usage(t *testing.T, n *tunnel.Node) fabric.Usage {
	t.Helper()
	u, err := n.Usage()
	must(t, err)
	return u
}

// datagrams is how many UDP datagrams the host has sent, of both families.
func datagrams(t *testing.T, h *fabric.Host) (sent int) {
	t.Helper()
	_, rest, _ := strings.Cut(command(t, h, "cat", "/proc/net/snmp6"), "Udp6OutDatagrams")
	_, err := fmt.Sscan(rest, &sent)
	must(t, err)
	return sent + counted(t, h, "snmp", "Udp:", "OutDatagrams")
}

// idleFor is how long an idle daemon sends nothing. settled bounds the time of its last probes
// and acknowledgements before.
const (
	idleFor = 5 * time.Second
	settled = 40 * time.Second
)

// awaitIdle returns n's share of a core in a time in which it sent nothing.
func awaitIdle(t *testing.T, n *tunnel.Node) (share float64) {
	t.Helper()
	for deadline := time.Now().Add(settled); time.Now().Before(deadline); {
		sent, from, u := datagrams(t, n.Host), time.Now(), usage(t, n)
		time.Sleep(idleFor)
		if sent == 0 {
			t.Fatal("the counter knows of no traffic at all")
		}
		if datagrams(t, n.Host) == sent {
			return (usage(t, n).CPU - u.CPU).Seconds() / time.Since(from).Seconds()
		}
	}
	t.Fatalf("%s still sends, %v after the last traffic", n.Name, settled)
	return 0
}

// unreachable is where the endpoints of some idle peers are.
var unreachable = netip.MustParsePrefix("198.18.0.0/15")

// idlePeers makes peers without hosts. One in three has no endpoint. One has an endpoint
// without a route to it, and one has a closed port of a host.
func idlePeers(t *testing.T, n int, deaf netip.Addr) (v []tunnel.Peer) {
	t.Helper()
	for i := range n {
		var key [32]byte
		if _, err := rand.Read(key[:]); err != nil {
			t.Fatal(err)
		}
		key[31] &= 0x7f // a key has one spelling
		inner := netip.AddrFrom4([4]byte{10, 10, byte(i >> 8), byte(i)})
		p := tunnel.Peer{
			Name: fmt.Sprintf("idle%d", i), PublicKey: base64.StdEncoding.EncodeToString(key[:]),
			AllowedIPs: []netip.Prefix{netip.PrefixFrom(inner, 32)},
		}
		switch i % 3 {
		case 1:
			a := netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
			p.Endpoints = []netip.AddrPort{netip.AddrPortFrom(a, tunnel.DefaultPort)}
		case 2:
			p.Endpoints = []netip.AddrPort{netip.AddrPortFrom(deaf, uint16(1+i))}
		}
		v = append(v, p)
	}
	return v
}

// Bounds for scraping a hub with a thousand peers: the mean processor time of one scrape, and
// memory in bytes after them. The measured cost is in docs/monitoring.md.
const (
	scrapes    = 5
	maxScrape  = 300 * time.Millisecond
	maxScraped = 120 << 20
)

// scrape reads the metrics of a hub as Prometheus does, but more often.
func scrape(t *testing.T, n *tunnel.Node) {
	t.Helper()
	before, size := usage(t, n).CPU, 0
	for range scrapes {
		time.Sleep(1100 * time.Millisecond) // the answer is kept for a second
		size = len(fetch(t, n.Host, "http://"+metricsAt+"/metrics"))
	}
	u := usage(t, n)
	each := (u.CPU - before) / scrapes
	t.Logf("a scrape: %d KiB, %v of processor time; %.1f MiB", size>>10, each, float64(u.RSS)/(1<<20))
	if size < 1<<20 || each > maxScrape || u.RSS > maxScraped {
		t.Errorf("want at most %v and %d MiB", maxScrape, maxScraped>>20)
	}
}

// TestThousandIdlePeers is a hub with a thousand peers. One of them has just been there. It is
// scraped at the end.
func TestThousandIdlePeers(t *testing.T) {
	side(t)
	run := t.TempDir() // outlives the daemons
	f := network(t, fabric.Spec{Spines: 1})
	command(t, f.A(1), "ip", "route", "add", "unreachable", unreachable.String())
	hub := node(t, f.A(1), "a", tunnel.Config{
		Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}, Extra: "\n[metrics]\nlisten = \"" + metricsAt + "\"\n",
	})
	spoke := node(t, f.B(1), "b", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)}})
	hub.Config.Peers = append(idlePeers(t, 999, f.B(1).Addr4()), tunnel.Peer{
		Name: "spoke", PublicKey: spoke.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 32)},
	})
	spoke.Config.Peers = []tunnel.Peer{{
		Name: "hub", PublicKey: hub.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 32)},
		Endpoints: []netip.AddrPort{netip.AddrPortFrom(f.A(1).Addr4(), tunnel.DefaultPort)},
	}}
	for _, n := range []*tunnel.Node{hub, spoke} {
		n.RunDir = run
		must(t, n.Start())
	}
	must(t, spoke.Await(tunnel.Inner4(1)))
	for _, c := range []struct {
		n       *tunnel.Node
		peers   int
		maximum int
	}{{hub, 1000, maxThousand}, {spoke, 1, maxIdle}} {
		share := awaitIdle(t, c.n)
		u := usage(t, c.n)
		t.Logf("%d peers: %.1f MiB, %.2f %% of a core", c.peers, float64(u.RSS)/(1<<20), 100*share)
		if u.RSS > c.maximum || share >= maxIdleCPU {
			t.Errorf("want at most %d MiB and less than %.0f %%", c.maximum>>20, 100*maxIdleCPU)
		}
	}
	// It is still there.
	if err := hub.Await(tunnel.Inner4(2)); err != nil {
		t.Error(err)
	}
	scrape(t, hub)
}

// TestMemoryUnderLoad loads a pair in the ways that fill buffers most.
func TestMemoryUnderLoad(t *testing.T) {
	long(t)
	for _, c := range []struct {
		name string
		rate int // Mbit/s of each path
		mtu  int // of the tunnel; 0: its default
		load func(t *testing.T, f *fabric.Fabric)
	}{
		{"64 flows as fast as it goes", -1, 0, func(t *testing.T, f *fabric.Fabric) {
			fl := flow(f, 64)
			fl.For = 6 * time.Second
			r, err := meter.Start(fl)
			must(t, err)
			must(t, r.Wait())
			t.Logf("%.0f Mbit/s", r.Sum().Mean(time.Second, 6*time.Second)/1e6)
		}},
		// Small packets take more memory than their size, and nothing slows them down.
		{"small datagrams faster than the paths", 20, 0, func(t *testing.T, f *fabric.Fabric) { flood(t, f, 64, 4*time.Second) }},
		{"jumbo datagrams faster than the paths", 20, 9000, func(t *testing.T, f *fabric.Fabric) { flood(t, f, 8900, 4*time.Second) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := network(t, fabric.Spec{RateMbit: c.rate})
			p := pair(t, f, tunnel.Config{MTU: c.mtu})
			c.load(t, f)
			for _, n := range []*tunnel.Node{p.A, p.B} {
				u := usage(t, n)
				t.Logf("%s: %.1f MiB at most", n.Name, float64(u.Peak)/(1<<20))
				if u.Peak > maxLoaded {
					t.Errorf("want %d MiB at most", maxLoaded>>20)
				}
			}
		})
	}
}

// flood sends datagrams of size bytes into the tunnel from A to B, as fast as the sender can,
// for a time.
func flood(t *testing.T, f *fabric.Fabric, size int, d time.Duration) {
	t.Helper()
	out, err := f.A(1).ListenPacket("udp", netip.AddrPortFrom(tunnel.Inner4(1), 0).String())
	must(t, err)
	defer out.Close()
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(tunnel.Inner4(2), 7000))
	b, n := make([]byte, size), 0
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		if _, err := out.WriteTo(b, to); err != nil && !strings.Contains(err.Error(), "refused") {
			t.Fatal(err)
		}
	}
	t.Logf("%.0f datagrams a second", float64(n)/d.Seconds())
	if n < 10_000 {
		t.Error("too few to fill anything")
	}
}
