package fabric

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		play()
	}
	os.Exit(m.Run())
}

func build(t *testing.T, spec Spec) *Fabric {
	t.Helper()
	start := time.Now()
	f, err := New(spec)
	must(t, err)
	t.Logf("built in %v", time.Since(start).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		entries, _ := os.ReadDir(netnsDir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), f.prefix) {
				t.Errorf("%s is left behind", e.Name())
			}
		}
	})
	return f
}

// sink counts the datagrams at a socket until none has arrived for the time wait.
func sink(t *testing.T, c net.PacketConn, wait time.Duration) (n, largest int) {
	t.Helper()
	buf := make([]byte, 1<<16)
	for {
		must(t, c.SetReadDeadline(time.Now().Add(wait)))
		k, _, err := c.ReadFrom(buf)
		if err != nil {
			return n, largest
		}
		n, largest = n+1, max(largest, k)
	}
}

// spray sends `rounds` datagrams of 100 bytes from each of `ports` source ports.
func spray(t *testing.T, h *Host, from, to netip.Addr, ports, rounds int) {
	t.Helper()
	for p := range ports {
		c, err := h.ListenPacket("udp", netip.AddrPortFrom(from, uint16(20000+p)).String())
		must(t, err)
		for range rounds {
			if _, err := c.WriteTo(make([]byte, 100), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9000))); err != nil {
				t.Fatal(err)
			}
		}
		must(t, c.Close())
		time.Sleep(time.Millisecond)
	}
}

func TestSourcePortsReachEverySpine(t *testing.T) {
	// The number of datagrams is small enough for the receiver's socket buffer.
	const ports, rounds = 64, 3
	f := build(t, Spec{HashSeed: 7})
	for _, c := range []struct{ from, to netip.Addr }{
		{f.A(1).Addr4(), f.B(1).Addr4()}, {f.A(1).Addr6(), f.B(1).Addr6()},
	} {
		in, err := f.B(1).ListenPacket("udp", netip.AddrPortFrom(c.to, 9000).String())
		must(t, err)
		defer in.Close()
		before, err := f.Counters()
		must(t, err)
		spray(t, f.A(1), c.from, c.to, ports, rounds)
		if n, _ := sink(t, in, 300*time.Millisecond); n != ports*rounds {
			t.Errorf("%s: %d datagrams of %d arrived", c.to, n, ports*rounds)
		}
		after, err := f.Counters()
		must(t, err)
		for s := range after {
			// With 64 ports over 4 spines, fewer than 4 ports on one spine have a probability below
			// 1e-5, and the seed is fixed.
			if got := after[s] - before[s]; got < 4*rounds*142 {
				t.Errorf("%s: spine %d carried %d bytes", c.to, s+1, got)
			}
		}
	}
}

func TestOneFlowStaysOnOneSpine(t *testing.T) {
	f := build(t, Spec{})
	in, err := f.B(1).ListenPacket("udp", ":9000")
	must(t, err)
	defer in.Close()
	before, _ := f.Counters()
	spray(t, f.A(1), f.A(1).Addr4(), f.B(1).Addr4(), 1, 100)
	sink(t, in, 200*time.Millisecond)
	after, _ := f.Counters()
	carriers := 0
	for s := range after {
		if after[s]-before[s] > 100*100 {
			carriers++
		}
	}
	if carriers != 1 {
		t.Errorf("%d spines carried the flow, want 1", carriers)
	}
	busy, err := f.Busiest(before)
	if err != nil || after[busy-1]-before[busy-1] < 100*142 {
		t.Errorf("Busiest = %d, %v; counters %v, before %v", busy, err, after, before)
	}
}

func TestFaultsAreSilentAndHeal(t *testing.T) {
	const rounds = 200
	f := build(t, Spec{Spines: 1})
	in, err := f.B(1).ListenPacket("udp4", ":9000")
	must(t, err)
	defer in.Close()
	arrive := func() int {
		spray(t, f.A(1), f.A(1).Addr4(), f.B(1).Addr4(), 1, rounds)
		n, _ := sink(t, in, 200*time.Millisecond)
		return n
	}
	if n := arrive(); n != rounds {
		t.Errorf("healthy: %d of %d arrived", n, rounds)
	}
	must(t, f.Break(1))
	if n := arrive(); n != 0 {
		t.Errorf("broken: %d arrived", n)
	}
	if out, err := f.A(1).Run("ping", "-6", "-c1", "-W1", f.B(1).Addr6().String()); err == nil || strings.Contains(out, "nreachable") {
		t.Errorf("broken: the ping over IPv6 got an answer: %s", out)
	}
	must(t, f.Lossy(1, 500))
	if n := arrive(); n < rounds/4 || n > rounds*3/4 {
		t.Errorf("losing half: %d of %d arrived", n, rounds)
	}
	must(t, f.Heal())
	if n := arrive(); n != rounds {
		t.Errorf("healed: %d of %d arrived", n, rounds)
	}
	if f.Break(2) == nil {
		t.Error("a spine that does not exist can be broken")
	}
}

func TestManyHostsAndAddresses(t *testing.T) {
	f := build(t, Spec{HostsA: 2, HostsB: 2, Spines: 2, Addrs: 3})
	for _, from := range []*Host{f.A(1), f.A(2)} {
		for _, to := range []*Host{f.B(1), f.B(2)} {
			for k := range 3 {
				for _, a := range []netip.Addr{to.V4[k], to.V6[k]} {
					if _, err := from.Run("ping", "-n", "-q", "-c1", "-W1", a.String()); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

func TestCloseEndsProcesses(t *testing.T) {
	f := build(t, Spec{Spines: 1})
	p, err := f.A(1).Start("sleep", "1000")
	must(t, err)
	// Close would miss a process that enters the namespace only later.
	if in, err := os.Stat(f.A(1).Path()); err != nil {
		t.Error(err)
	} else if is, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.Pid())); err != nil || !os.SameFile(in, is) {
		t.Error("the process was not born in the namespace")
	}
	must(t, f.Close())
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		t.Error("the process in the fabric still runs")
	}
}

func TestSpecBounds(t *testing.T) {
	for _, s := range []Spec{{Spines: maxSpines + 1}, {HostsA: -1}, {HostsB: maxHosts + 1}, {Addrs: maxAddrs + 1}} {
		if _, err := s.withDefaults(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func TestProcessKeepsTheEndOfItsOutput(t *testing.T) {
	var l Log
	for i := range 100_000 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	if got := l.String(); len(got) > logMax || !bytes.HasSuffix([]byte(got), []byte("line 99999\n")) {
		t.Errorf("log of %d bytes ends in %q", len(got), got[max(0, len(got)-20):])
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
