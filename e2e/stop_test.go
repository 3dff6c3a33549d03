package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// stopFor is longer than the time for which any datagram may wait.
	stopFor = 6 * time.Second
	// maxAge bounds the age of a delivered datagram, counted from its write to the device. A
	// datagram may wait for two seconds, and then for its retransmission.
	maxAge = 3 * time.Second
)

// TestStoppedProcess stops the daemon of one end under load, and then continues it. No delivered
// datagram may be as old as the stop was long, and new datagrams must pass immediately.
func TestStoppedProcess(t *testing.T) {
	side(t)
	for name, victim := range map[string]func(p *tunnel.Pair) *tunnel.Node{
		"sender":   func(p *tunnel.Pair) *tunnel.Node { return p.A },
		"receiver": func(p *tunnel.Pair) *tunnel.Node { return p.B },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := network(t, fabric.Spec{})
			p := pair(t, f, tunnel.Config{})
			s, err := meter.StartStream(f.A(1), f.B(1), tunnel.Inner4(1), tunnel.Inner4(2), 2*time.Millisecond)
			must(t, err)
			defer s.Close()
			time.Sleep(time.Second)
			n := victim(p)
			must(t, syscall.Kill(n.Pid(), syscall.SIGSTOP))
			time.Sleep(stopFor)
			resumed := time.Now()
			must(t, syscall.Kill(n.Pid(), syscall.SIGCONT))
			time.Sleep(2 * time.Second)
			got := s.Tally()
			t.Logf("%d sent, %d arrived, %d of them twice; the oldest was %.2f s old; the first after the stop came %.3f s later",
				got.Sent, got.Arrived, got.Twice, got.Oldest.Seconds(), s.FirstAfter(resumed).Seconds())
			if !strings.Contains(n.Log(), "the process did not run for about") {
				t.Errorf("%s says nothing of its stop: %s", n.Name, n.Log())
			}
			if got.Oldest > maxAge || got.Twice > 0 {
				t.Errorf("the oldest datagram was %v old, %d came twice", got.Oldest, got.Twice)
			}
			if d := s.FirstAfter(resumed); d > time.Second {
				t.Errorf("new datagrams pass %v after the stop", d)
			}
		})
	}
}
