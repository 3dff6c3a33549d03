package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// latePause and lateRun are the times for which the process is stopped and runs, in turn.
	latePause = 150 * time.Millisecond
	lateRun   = 5 * time.Millisecond
	// The test sends lateDatagrams datagrams of lateBytes bytes, one each lateEvery, which is 22
	// Mbit/s.
	lateDatagrams = 800
	lateBytes     = 1400
	lateEvery     = 500 * time.Microsecond
)

// TestLostDatagramsHaveAReason sends datagrams to a peer whose process pauses repeatedly. Each lost
// datagram must be counted, either by the sender's queue, which "show" names, or by the kernel at
// the application's socket.
func TestLostDatagramsHaveAReason(t *testing.T) {
	d := direct(t, fabric.DirectSpec{Links: 1})
	a := node(t, d.A, "a", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	b := node(t, d.B, "b", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)}})
	meet(a, b, "b", 2)
	meet(b, a, "a", 1)
	for _, n := range []*tunnel.Node{a, b} {
		must(t, n.Start())
	}
	must(t, a.Await(tunnel.Inner4(2)))
	end := pauses(t, b)
	arrived := sendDatagrams(t, d)
	end()
	dropped, socket := dropsOf(t, a, b), fullSockets(t, d.B)
	lost := lateDatagrams - arrived
	t.Logf("%d of %d lost; %v; %d at the application's socket", lost, lateDatagrams, dropped, socket)
	if lost == 0 {
		t.Error("nothing is lost, so nothing is shown")
	}
	n := dropped["queue_codel_datagram"]
	counted := n + dropped["queue_stale"] + dropped["queue_overflow"] + dropped["order_stale"] + socket
	if most := counted + dropped["given_up"]; lost < counted || lost > most {
		t.Errorf("%d datagrams are lost, and %v and %d at the socket are counted", lost, dropped, socket)
	} else if text := shown(t, a); n > 0 && !strings.Contains(text, fmt.Sprintf("queue_codel_datagram %d", n)) {
		t.Errorf("show does not say it:\n%s", text)
	}
}

// pauses stops and continues a daemon's process repeatedly, until end is called.
func pauses(t *testing.T, n *tunnel.Node) (end func()) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(lateRun):
			}
			if err := syscall.Kill(n.Pid(), syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			time.Sleep(latePause)
			if err := syscall.Kill(n.Pid(), syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); done.Wait() })
}

// sendDatagrams sends lateDatagrams datagrams from A to B through the tunnel, and returns the
// number of arrived datagrams.
func sendDatagrams(t *testing.T, d *fabric.Direct) (arrived int) {
	t.Helper()
	in, err := d.B.ListenPacket("udp", netip.AddrPortFrom(tunnel.Inner4(2), 0).String())
	must(t, err)
	defer in.Close()
	out, err := d.A.ListenPacket("udp", netip.AddrPortFrom(tunnel.Inner4(1), 0).String())
	must(t, err)
	defer out.Close()
	seen := map[uint64]bool{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for buf := make([]byte, 2*lateBytes); len(seen) < lateDatagrams; {
			n, _, err := in.ReadFrom(buf)
			if err != nil {
				return
			}
			if n == lateBytes {
				seen[binary.BigEndian.Uint64(buf)] = true
			}
		}
	})
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(tunnel.Inner4(2), uint16(in.LocalAddr().(*net.UDPAddr).Port)))
	buf := make([]byte, lateBytes)
	tick := time.NewTicker(lateEvery)
	defer tick.Stop()
	for i := range uint64(lateDatagrams) {
		<-tick.C
		binary.BigEndian.PutUint64(buf, i)
		if _, err := out.WriteTo(buf, to); err != nil {
			t.Error(err)
		}
	}
	if err := in.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Error(err)
	}
	reading.Wait()
	return len(seen)
}

// dropsOf returns the sum of the drops of all nodes by reason, including abandoned messages.
func dropsOf(t *testing.T, nodes ...*tunnel.Node) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, n := range nodes {
		var status struct {
			Drops map[string]int
			Peers []struct {
				Drops    map[string]int
				Messages struct {
					GivenUp int `json:"given_up"`
				}
			}
		}
		statusOf(t, n, &status)
		for reason, n := range status.Drops {
			all[reason] += n
		}
		all["given_up"] += status.Peers[0].Messages.GivenUp
		for reason, n := range status.Peers[0].Drops {
			all[reason] += n
		}
	}
	return all
}

// fullSockets returns the number of datagrams that a host dropped because an application's socket
// was full.
func fullSockets(t *testing.T, h *fabric.Host) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(do(t, h, "grep ^Udp: /proc/net/snmp | tail -1 | cut -d' ' -f6"), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// shown returns the output of "srdtun show".
func shown(t *testing.T, n *tunnel.Node) string {
	t.Helper()
	out, err := exec.Command(bin, "show", n.Name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
