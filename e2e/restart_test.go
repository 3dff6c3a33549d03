package e2e

import (
	"encoding/json"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// maxRecovery bounds the time from the restart of a killed daemon to traffic in both directions.
// WireGuard takes some 15 s.
const maxRecovery = 4 * time.Second

// minAfter is the flow's minimum goodput after the recovery, in bit/s.
const minAfter = 150e6

// TestKillAndRestart kills a daemon under load, and starts it again. Datagrams must soon pass. The
// TCP flow, whose addresses did not exist for a moment, must continue as the same connection. The
// drill "kill" tests the same with an end that cannot start a handshake.
func TestKillAndRestart(t *testing.T) {
	long(t)
	for i, name := range []string{"sender", "receiver"} {
		t.Run(name, func(t *testing.T) {
			f := network(t, fabric.Spec{})
			p := pair(t, f, tunnel.Config{})
			n := []*tunnel.Node{p.A, p.B}[i]
			beat, err := meter.StartHeartbeat(f.A(1), f.B(1), tunnel.Inner4(1), tunnel.Inner4(2))
			must(t, err)
			defer beat.Close()
			fl := flow(f, 1)
			fl.For = 14 * time.Second
			load, err := meter.Start(fl)
			must(t, err)
			defer load.Stop()
			time.Sleep(3 * time.Second)
			if _, err := beat.AnswerAfter(time.Now(), time.Second); err != nil {
				t.Fatal("before the kill: ", err)
			}
			n.Kill()
			restarted := time.Now()
			must(t, n.Start())
			took, err := beat.AnswerAfter(restarted, 30*time.Second)
			must(t, err)
			if err := load.Wait(); err != nil {
				t.Error("the TCP connection did not survive: ", err)
			}
			after := load.Sum().Mean(10*time.Second, 14*time.Second)
			t.Logf("traffic again %.2f s after the start; the same TCP flow later: %.0f Mbit/s", took.Seconds(), after/1e6)
			if took > maxRecovery {
				t.Errorf("traffic again after %v, want at most %v", took, maxRecovery)
			}
			if after < minAfter {
				t.Errorf("the TCP flow carries %.0f Mbit/s", after/1e6)
			}
		})
	}
}

// sourcePorts is the default number of source ports in the configuration.
const sourcePorts = 32

// TestRestartsLeaveNoPaths restarts one end repeatedly. The other end must not keep paths to the
// ports of earlier processes.
func TestRestartsLeaveNoPaths(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	for range 4 {
		p.A.Kill()
		if err := p.A.Start(); err != nil {
			t.Fatal(err)
		}
		if err := p.A.Await(tunnel.Inner4(2)); err != nil {
			t.Fatal(err)
		}
	}
	talk(t, p.A.Host, tunnel.Inner4(1), tunnel.Inner4(2), 32*sourcePorts)
	most := 2*sourcePorts - 1 // listen port to listen port is one path
	for _, n := range []*tunnel.Node{p.A, p.B} {
		wantPaths(t, n, most)
	}
}

// talk sends n datagrams to closed ports. Each of the first messages opens a path, and later every
// 24th (docs/transport.md, U1).
func talk(t *testing.T, h *fabric.Host, from, to netip.Addr, n int) {
	t.Helper()
	c, err := h.ListenPacket("udp", netip.AddrPortFrom(from, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		_, _ = c.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, uint16(7000+i))))
		time.Sleep(time.Millisecond)
	}
}

// wantPaths waits until n has exactly `want` paths, and all of them are active.
func wantPaths(t *testing.T, n *tunnel.Node, want int) {
	t.Helper()
	var got map[string]int
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if got = states(t, n); len(got) == 1 && got["active"] == want {
			return
		}
	}
	t.Errorf("%s: paths %v, want %d active and no others", n.Name, got, want)
}

// states counts the paths of n's only peer by their state.
func states(t *testing.T, n *tunnel.Node) map[string]int {
	t.Helper()
	out, err := n.Show()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Peers []struct{ Paths []struct{ State string } }
	}
	if err := json.Unmarshal(out, &s); err != nil || len(s.Peers) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	v := map[string]int{}
	for _, path := range s.Peers[0].Paths {
		v[path.State]++
	}
	return v
}
