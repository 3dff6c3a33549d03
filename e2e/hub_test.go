package e2e

import (
	"encoding/binary"
	"errors"
	"flag"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// The spokes are on both leaves, because one leaf has too few hosts.
const (
	spokesA = 32
	spokesB = 18
	spokes  = spokesA + spokesB
)

// hubPorts is the number of source ports of each end. Fifty daemons share the processors with the
// hub, and opening a path costs processor time.
var hubPorts = flag.Int("hub-ports", 4, "source ports of the hub and of each spoke")

// remembered bounds the time until a hub has stored its spokes' endpoints in a file.
const remembered = 2 * time.Second

const (
	// maxHubBack bounds the time from the start of a hub's process to traffic both ways with its
	// last spoke.
	maxHubBack = time.Second
	// maxHubMet is the bound for a hub that has said goodbye to its spokes and restarts
	// immediately. Hub and spokes then start handshakes at the same time, and share one core.
	maxHubMet = 3 * time.Second
)

// hubWith configures a hub without endpoints of its spokes, and the spokes. Inside the tunnel, the
// hub is node 1, and the spokes are nodes 2 and up.
func hubWith(t *testing.T, at *fabric.Host, hosts []*fabric.Host, ports int) (hub *tunnel.Node, all []*tunnel.Node) {
	t.Helper()
	hub = node(t, at, "hub", tunnel.Config{SourcePorts: ports, Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	for i, h := range hosts {
		n := node(t, h, string([]byte{'a' + byte(i/26), 'a' + byte(i%26)}), tunnel.Config{
			SourcePorts: ports,
			Address:     []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+2), 24)},
			Peers: []tunnel.Peer{{
				Name: "hub", PublicKey: hub.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(0), 24)},
				Endpoints: []netip.AddrPort{netip.AddrPortFrom(hub.Host.Addr4(), tunnel.DefaultPort)},
			}},
		})
		hub.Config.Peers = append(hub.Config.Peers, tunnel.Peer{
			Name: n.Name, PublicKey: n.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+2), 32)},
		})
		all = append(all, n)
	}
	return hub, all
}

// wheel starts a hub without endpoints of its spokes, and the spokes. Each spoke is behind a NAT
// that lets only answers in.
func wheel(t *testing.T, start func(hub *tunnel.Node) error) (hub *tunnel.Node, all []*tunnel.Node) {
	t.Helper()
	f := network(t, fabric.Spec{HostsA: spokesA, HostsB: spokesB + 1})
	var hosts []*fabric.Host
	for i := range spokes {
		h := f.A(min(i+1, spokesA))
		if i >= spokesA {
			h = f.B(i - spokesA + 1)
		}
		hosts = append(hosts, h)
	}
	hub, all = hubWith(t, f.B(spokesB+1), hosts, *hubPorts)
	must(t, start(hub))
	for _, n := range all {
		translate(t, n.Host, "20000-29999")
		must(t, n.Start())
	}
	return hub, all
}

// TestHubRestartReachesItsSpokes ends a hub in several ways while its spokes send little traffic,
// and starts the hub again without a descriptor store. The hub must soon reach all spokes, even if
// their handshake attempts have become rare after a long outage.
func TestHubRestartReachesItsSpokes(t *testing.T) {
	long(t)
	hub, all := wheel(t, (*tunnel.Node).Start)
	beats := beatAll(t, hub, all)
	for _, c := range []struct {
		name string
		end  func() error
		down time.Duration
		most time.Duration
	}{
		{"kill -9", func() error { hub.Kill(); return nil }, 0, maxHubBack},
		{"stop", hub.Stop, 0, maxHubMet},
		{"kill -9, for 3 s", func() error { hub.Kill(); return nil }, 3 * time.Second, maxHubBack},
		{"stop, for 4 s", hub.Stop, 4 * time.Second, maxHubBack},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := time.Now()
			for _, b := range beats {
				b.answered(t, before)
			}
			time.Sleep(remembered)
			must(t, c.end())
			time.Sleep(c.down)
			from := time.Now()
			must(t, hub.Start())
			ready := time.Since(from)
			var took []time.Duration
			for _, b := range beats {
				took = append(took, b.answered(t, from))
			}
			slices.Sort(took)
			t.Logf("ready after %v; traffic again after %v, %v and %v (first, median, last)", ready, took[0], took[len(took)/2], took[len(took)-1])
			if last := took[len(took)-1]; last > c.most {
				t.Errorf("the last spoke after %v, want %v", last, c.most)
			}
		})
	}
}

// pulseEvery is the pause between the datagrams of a pulse. Datagrams wait for a session, so the
// pause does not limit the precision of the measured times.
const pulseEvery = 250 * time.Millisecond

// pulse sends a few datagrams from a spoke to an echo server, and records the time of each.
type pulse struct {
	begun time.Time
	mu    sync.Mutex
	heard []echoed
}

// echoed has the times at which a datagram was sent and its answer arrived, counted from begun.
type echoed struct{ sent, came time.Duration }

// beat starts a pulse that ends with the test.
func beat(t *testing.T, h *fabric.Host, from netip.Addr, to netip.AddrPort) *pulse {
	t.Helper()
	c, err := h.ListenPacket("udp", netip.AddrPortFrom(from, 0).String())
	must(t, err)
	p := &pulse{begun: time.Now()}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); c.Close() })
	go func() {
		tick := time.NewTicker(pulseEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_, _ = c.WriteTo(binary.BigEndian.AppendUint64(nil, uint64(time.Since(p.begun))), net.UDPAddrFromAddrPort(to))
			}
		}
	}()
	go p.listen(c)
	return p
}

func (p *pulse) listen(c net.PacketConn) {
	buf := make([]byte, 64)
	for {
		n, _, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && n == 8 {
			p.mu.Lock()
			p.heard = append(p.heard, echoed{time.Duration(binary.BigEndian.Uint64(buf)), time.Since(p.begun)})
			p.mu.Unlock()
		}
	}
}

// answered waits for the answer to a datagram that was sent after the time from. The result is the
// time from `from` to the answer.
func (p *pulse) answered(t *testing.T, from time.Time) time.Duration {
	t.Helper()
	after := from.Sub(p.begun)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		heard := p.heard
		p.mu.Unlock()
		if i := slices.IndexFunc(heard, func(e echoed) bool { return e.sent > after }); i >= 0 {
			return heard[i].came - after
		}
	}
	t.Fatal("a spoke gets no answer any more")
	return 0
}

// beatAll starts a pulse from each spoke to the hub.
func beatAll(t *testing.T, hub *tunnel.Node, spokes []*tunnel.Node) (beats []*pulse) {
	t.Helper()
	to := netip.AddrPortFrom(tunnel.Inner4(1), 7000)
	echo, err := hub.Host.ListenPacket("udp", to.String())
	must(t, err)
	t.Cleanup(func() { echo.Close() })
	go meter.Answer(echo)
	for i, n := range spokes {
		beats = append(beats, beat(t, n.Host, tunnel.Inner4(i+2), to))
	}
	return beats
}
