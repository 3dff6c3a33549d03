package e2e

import (
	"net/netip"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// Bounds for asking a hub of thousands of peers. A status has 7 MB there, and with paths to all
// peers several times as much. The hub alone takes some 100 MiB, and its garbage as much again.
const (
	hubPeers   = 4000
	showAtOnce = 32
	maxAsked   = 240 << 20 // of memory, while that many ask
)

// TestManyReadersOfAHub lets twice as many commands as there are places ask a hub for its whole status at once.
func TestManyReadersOfAHub(t *testing.T) {
	side(t)
	manyReaders(t, func() {})
}

// busyProcesses is how many others want the processors of a busy machine.
const busyProcesses = 8

// TestManyReadersOfABusyHub does the same on a busy machine. A whole status takes longer there
// than a command waits for a silent daemon.
func TestManyReadersOfABusyHub(t *testing.T) {
	long(t)
	manyReaders(t, func() {
		for range busyProcesses {
			busy := exec.Command("sh", "-c", "while :; do :; done")
			busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			must(t, busy.Start())
			t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
		}
	})
}

// manyReaders starts a hub, calls begin, and then lets the commands ask.
func manyReaders(t *testing.T, begin func()) {
	f := network(t, fabric.Spec{Spines: 1})
	command(t, f.A(1), "ip", "route", "add", "unreachable", unreachable.String())
	hub := node(t, f.A(1), "a", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	hub.Config.Peers = idlePeers(t, hubPeers, f.B(1).Addr4())
	must(t, hub.Start())
	before := usage(t, hub)
	begin()
	var all sync.WaitGroup
	answers := make(chan int, showAtOnce)
	for range showAtOnce {
		all.Go(func() {
			if text, err := hub.Show(); err == nil {
				answers <- len(text)
			} else {
				t.Logf("refused: %v", err)
			}
		})
	}
	all.Wait()
	after := usage(t, hub)
	t.Logf("%d answers; %.1f MiB, before %.1f MiB", len(answers), float64(after.Peak)/(1<<20), float64(before.Peak)/(1<<20))
	if len(answers) < showAtOnce {
		t.Errorf("want %d answers", showAtOnce)
	}
	if after.Peak > maxAsked {
		t.Errorf("want at most %d MiB", maxAsked>>20)
	}
}
