package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// garbageRate is the attacker's rate in packets per second.
	garbageRate = 100_000
	// garbageCost is the largest fraction by which garbage may reduce a TCP flow's goodput.
	garbageCost = 0.10
	// garbageRounds is the number of rounds for each kind of garbage. A round has four spans of
	// length garbageSpan. In the first and the last span, the garbage goes to another socket, where
	// it costs nothing. In the two spans between, the garbage goes to the daemon's socket. The
	// sender and the network, which use the same processors as the tunnel, cost the same in all
	// spans. A drift of the goodput cancels out. The goodput varies by as much as the bound, so a
	// kind that seems too expensive is measured for longer, up to garbageMost.
	garbageRounds = 9
	garbageMost   = 3 * garbageRounds
	garbageSpan   = 600 * time.Millisecond
	// sinkPort is the port of the other socket.
	sinkPort = 9
	// garbageWork bounds an idle daemon's work for garbage, as a fraction of one processor. Unlike
	// goodput, this work does not depend on the machine's other work.
	garbageWork = 0.10
	// quietSpread bounds the spread between the quartiles of the goodput without garbage. If the
	// spread is larger, the comparison with garbage means nothing.
	quietSpread = 0.15
)

// garbageKinds are the packets of attackers who know the port, but no session index.
var garbageKinds = []struct {
	what string
	size int
	fill func(b []byte, n int)
}{
	{"random bytes", 64, func(b []byte, n int) {
		for i := 0; i < len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], rand.Uint64())
		}
	}},
	{"data of no session", 64, func(b []byte, n int) {
		b[0] = 0x24
		binary.BigEndian.PutUint32(b[4:], rand.Uint32())
		binary.BigEndian.PutUint64(b[8:], uint64(n))
	}},
	{"initiations", 181, func(b []byte, n int) {
		b[0] = 0x21
		binary.BigEndian.PutUint64(b[8:], uint64(n))
	}},
}

// garbageField starts a tunnel over the first of two links. The attacker uses the second link.
func garbageField(t *testing.T) (d *fabric.Direct, a, b *fabric.Host, p *tunnel.Pair) {
	t.Helper()
	d = direct(t, fabric.DirectSpec{Links: 2, WireLike: true})
	a, b = &fabric.Host{Namespace: d.A.Namespace, V4: d.A.V4[:1]}, &fabric.Host{Namespace: d.B.Namespace, V4: d.B.V4[:1]}
	p, err := tunnel.NewPair(bin, a, b, tunnel.Config{}, false)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	return d, a, b, p
}

// A flood of garbage must cost an idle daemon little processor time.
func TestGarbageIsLittleWork(t *testing.T) {
	d, _, _, p := garbageField(t)
	for _, k := range garbageKinds {
		wantLittleWork(t, p.B, meter.Garbage{
			From: d.A, To: netip.AddrPortFrom(d.B.V4[1], tunnel.DefaultPort), Size: k.size, Rate: garbageRate, Fill: k.fill,
		}, k.what)
	}
}

// A flood of garbage must hardly reduce the goodput of a flow in the tunnel.
func TestGarbageCostsLittle(t *testing.T) {
	long(t)
	d, a, b, _ := garbageField(t)
	sink, err := d.B.ListenPacket("udp4", fmt.Sprintf(":%d", sinkPort))
	must(t, err)
	defer sink.Close()
	must(t, takeNothing(sink.(*net.UDPConn)))
	spans := garbageMost * (len(garbageKinds)*4 + 1)
	run, err := meter.Start(meter.Flow{Server: b, Client: a, To: tunnel.Inner4(2), For: time.Duration(spans+4) * garbageSpan})
	must(t, err)
	defer run.Stop()
	for run.Elapsed() < garbageSpan { // waits until the flow has reached its rate
		time.Sleep(10 * time.Millisecond)
	}
	during := func(f func()) float64 {
		from := run.Elapsed()
		f()
		return run.Sum().Mean(from, run.Elapsed())
	}
	var quiet []float64
	kept, all := make([][]float64, len(garbageKinds)), make([][]float64, len(garbageKinds))
	settled := func(n, i int) bool {
		return n >= garbageRounds && (len(kept[i]) <= n/2 || median(kept[i]) >= 1-garbageCost)
	}
	for n := range garbageMost {
		if settled(n, 0) && settled(n, 1) && settled(n, 2) {
			break
		}
		none := during(func() { time.Sleep(garbageSpan) })
		quiet = append(quiet, none)
		for i, k := range garbageKinds {
			if settled(n, i) {
				continue
			}
			enough := true // enough datagrams were sent, although the machine may have other work
			throw := func(port uint16) func() {
				return func() {
					sent, err := meter.Garbage{
						From: d.A, To: netip.AddrPortFrom(d.B.V4[1], port), Size: k.size, Rate: garbageRate, Fill: k.fill,
					}.Send(garbageSpan)
					must(t, err)
					enough = enough && float64(sent) > 0.9*garbageRate*garbageSpan.Seconds()
				}
			}
			aside := during(throw(sinkPort))
			got := during(throw(tunnel.DefaultPort)) + during(throw(tunnel.DefaultPort))
			aside += during(throw(sinkPort))
			if !enough {
				continue
			}
			kept[i] = append(kept[i], got/aside)
			all[i] = append(all[i], got/2/none)
		}
	}
	slices.Sort(quiet)
	spread := (quiet[len(quiet)*3/4] - quiet[len(quiet)/4]) / median(quiet)
	t.Logf("without garbage: %.0f Mbit/s, half of the time within %.0f %%", median(quiet)/1e6, 100*spread)
	if spread > quietSpread {
		t.Log("the machine has too much other work for goodput to tell")
	}
	for i, k := range garbageKinds {
		if len(kept[i]) == 0 {
			t.Logf("%s: the sender never had the rate", k.what)
			continue
		}
		t.Logf("%s: %.1f %% of the goodput with as many packets to nobody [%.1f..%.1f], %.1f %% of that without, %d rounds", k.what,
			100*median(kept[i]), 100*slices.Min(kept[i]), 100*slices.Max(kept[i]), 100*median(all[i]), len(kept[i]))
		if spread <= quietSpread && len(kept[i]) > garbageRounds/2 && median(kept[i]) < 1-garbageCost {
			t.Errorf("%d packets/s of %s cost more than %.0f %%", garbageRate, k.what, 100*garbageCost)
		}
	}
}

// wantLittleWork sends garbage to an otherwise idle daemon, and checks the daemon's processor time.
func wantLittleWork(t *testing.T, n *tunnel.Node, g meter.Garbage, what string) {
	t.Helper()
	const during = 2 * time.Second
	full := unread(t, n.Host)
	before, err := n.Usage()
	must(t, err)
	sent, err := g.Send(during)
	must(t, err)
	after, err := n.Usage()
	must(t, err)
	work := (after.CPU - before.CPU).Seconds() / float64(sent) * garbageRate
	t.Logf("%s: %.1f %% of a processor for %d packets/s", what, 100*work, garbageRate)
	if work > garbageWork {
		t.Errorf("%s: want %.0f %% at most", what, 100*garbageWork)
	}
	if lost := unread(t, n.Host) - full; lost > 0 {
		t.Errorf("%s: %d packets found the socket's buffer full", what, lost)
	}
}

// takeNothing makes the kernel drop all packets to a socket.
func takeNothing(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	refuse := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &refuse[0]})
	})
	return errors.Join(e, err)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
