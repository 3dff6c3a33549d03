package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/internal/uevent"
)

// After the kernel has reported that the machine is a copy, the daemon at either end must make new
// sessions under load. The TCP connection through the tunnel must survive.
func TestRestoredMachineMakesNewSessions(t *testing.T) {
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	run, err := meter.Start(meter.Flow{Server: f.B(1), Client: f.A(1), To: tunnel.Inner4(2), For: 12 * time.Second})
	must(t, err)
	defer run.Stop()
	for i, n := range []*tunnel.Node{p.A, p.B} {
		for run.Elapsed() < time.Duration(2+4*i)*time.Second {
			time.Sleep(10 * time.Millisecond)
		}
		before := handshakeTime(t, n)
		must(t, n.Host.Do(func() error { return uevent.Send(uevent.VMGenID...) }))
		for limit := time.Now().Add(3 * time.Second); handshakeTime(t, n) <= before; {
			if time.Now().After(limit) {
				t.Fatalf("%s: no new handshake", n.Name)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !strings.Contains(n.Log(), "start anew") {
			t.Errorf("%s does not say it: %s", n.Name, n.Log())
		}
	}
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
	for _, from := range []time.Duration{3500 * time.Millisecond, 7500 * time.Millisecond} {
		if got := run.Sum().Mean(from, from+1500*time.Millisecond); got < 200e6 {
			t.Errorf("%.0f Mbit/s from %v on, want 200 at least", got/1e6, from)
		}
	}
}

// handshakeTime returns the time of the newest handshake, in seconds.
func handshakeTime(t *testing.T, n *tunnel.Node) int64 {
	t.Helper()
	var s struct {
		Peers []struct {
			Latest int64 `json:"latest_handshake_unix_s"`
		}
	}
	if statusOf(t, n, &s); len(s.Peers) != 1 {
		t.Fatalf("%s has %d peers", n.Name, len(s.Peers))
	}
	return s.Peers[0].Latest
}
