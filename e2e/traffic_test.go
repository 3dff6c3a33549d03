package e2e

import (
	"bufio"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// iperf runs iperf3 from A to B for 4 s, and returns the totals.
func iperf(t *testing.T, f *fabric.Fabric, to netip.Addr, extra ...string) meter.Totals {
	t.Helper()
	got, err := meter.Iperf(f.B(1), f.A(1), to, append([]string{"-t", "4"}, extra...)...)
	must(t, err)
	t.Logf("%v to %s: %.0f Mbit/s, back %.0f Mbit/s, lost %.2f %%", extra, to, got.Forward/1e6, got.Reverse/1e6, got.LostPercent)
	return got
}

func TestKindsOfTraffic(t *testing.T) {
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	t.Run("bidirectional", func(t *testing.T) {
		if got := iperf(t, f, tunnel.Inner4(2), "--bidir"); got.Forward < 100e6 || got.Reverse < 100e6 {
			t.Error("want at least 100 Mbit/s each way")
		}
	})
	t.Run("parallel", func(t *testing.T) {
		if got := iperf(t, f, tunnel.Inner4(2), "-P", "8"); got.Forward < 200e6 {
			t.Error("want at least 200 Mbit/s")
		}
	})
	t.Run("reverse", func(t *testing.T) {
		if got := iperf(t, f, tunnel.Inner4(2), "-R"); got.Forward < 200e6 {
			t.Error("want at least 200 Mbit/s")
		}
	})
	t.Run("udp", func(t *testing.T) {
		// The rate is about half of the fabric's rate. Datagrams that the receiving program reads
		// too slowly do not count as losses of the tunnel.
		const rate = 150e6
		before := unread(t, f.B(1))
		got := iperf(t, f, tunnel.Inner4(2), "-u", "-b", "150M", "-l", "1200")
		sent := rate * 4 / 8 / 1200
		slow := 100 * float64(unread(t, f.B(1))-before) / sent
		t.Logf("%.2f %% arrived but were not read in time; devices: %s, %s", slow, deviceDrops(t, p.A), deviceDrops(t, p.B))
		if got.LostPercent-slow > 2 {
			t.Error("want at most 2 % lost")
		}
	})
	t.Run("ipv6 inside", func(t *testing.T) {
		if got := iperf(t, f, tunnel.Inner6(2)); got.Forward < 200e6 {
			t.Error("want at least 200 Mbit/s")
		}
	})
	t.Run("ping sizes", func(t *testing.T) { pingSizes(t, f) })
	t.Run("redis", func(t *testing.T) { redis(t, f) })
}

// unread returns the number of datagrams that the host has dropped because a program's socket was
// full.
func unread(t *testing.T, h *fabric.Host) int { return counted(t, h, "snmp", "Udp:", "RcvbufErrors") }

// deviceDrops returns the kernel's drop counters of the tunnel's device. The kernel drops outgoing
// packets that the daemon does not read, and incoming packets that the host does not accept.
func deviceDrops(t *testing.T, n *tunnel.Node) string {
	t.Helper()
	out := command(t, n.Host, "cat", "/sys/class/net/"+n.Name+"/statistics/tx_dropped", "/sys/class/net/"+n.Name+"/statistics/rx_dropped")
	return "dropped out, in: " + strings.Join(strings.Fields(out), ", ")
}

// pingSizes sends pings with sizes from zero to the largest packet that IP can fragment.
func pingSizes(t *testing.T, f *fabric.Fabric) {
	for _, size := range []int{0, 1, 8, 56, 1000, 1472, 1473, 4096, 9000, 16384, 40000, 65507} {
		if _, err := f.A(1).Run("ping", "-n", "-q", "-c2", "-i0.05", "-W2", "-s", strconv.Itoa(size), tunnel.Inner4(2).String()); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for _, size := range []int{0, 56, 1452, 1453, 9000, 65000} {
		if _, err := f.A(1).Run("ping", "-n", "-q", "-c2", "-i0.05", "-W2", "-s", strconv.Itoa(size), tunnel.Inner6(2).String()); err != nil {
			t.Errorf("IPv6, %d bytes: %v", size, err)
		}
	}
}

func TestIPv6Outside(t *testing.T) {
	f := network(t, fabric.Spec{})
	pairOver(t, f, tunnel.Config{}, true)
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
	if got := iperf(t, f, tunnel.Inner6(2)); got.Forward < 200e6 {
		t.Error("IPv6 inside: want at least 200 Mbit/s")
	}
}

// TestSeveralAddresses uses three addresses at each end as paths.
func TestSeveralAddresses(t *testing.T) {
	f := network(t, fabric.Spec{Addrs: 3})
	pair(t, f, tunnel.Config{})
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
}

// TestJumboInsideOrdinaryOutside sends packets of 9000 bytes over links with an MTU of 1500 bytes.
// The packets must not be fragmented.
func TestJumboInsideOrdinaryOutside(t *testing.T) {
	f := network(t, fabric.Spec{})
	pair(t, f, tunnel.Config{MTU: 9000})
	out, err := f.A(1).Run("ping", "-n", "-M", "do", "-s", "8972", "-c5", "-i0.05", "-W2", tunnel.Inner4(2).String())
	if err != nil || !strings.Contains(out, " 0% packet loss") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := f.A(1).Run("ping", "-n", "-M", "do", "-s", "8973", "-c1", "-W1", tunnel.Inner4(2).String()); err == nil {
		t.Errorf("a packet above the MTU passed:\n%s", out)
	}
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
}

// TestLargestInnerMTU sends unfragmented packets of the largest IP size over links with an MTU of
// 1500 bytes.
func TestLargestInnerMTU(t *testing.T) {
	f := network(t, fabric.Spec{})
	pair(t, f, tunnel.Config{MTU: 65520})
	out, err := f.A(1).Run("ping", "-n", "-M", "do", "-s", "65492", "-c5", "-i0.05", "-W2", tunnel.Inner4(2).String())
	if err != nil || !strings.Contains(out, " 0% packet loss") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := iperf(t, f, tunnel.Inner4(2)); got.Forward < 200e6 {
		t.Error("want at least 200 Mbit/s")
	}
}

// redis runs a Redis server at B, a client at A that waits for each answer, and Redis's own
// benchmark.
func redis(t *testing.T, f *fabric.Fabric) {
	at := tunnel.Inner4(2).String()
	server, err := f.B(1).Start("redis-server", "--bind", at, "--port", "6379", "--save", "", "--appendonly", "no", "--protected-mode", "no")
	must(t, err)
	defer server.Kill()
	waitForRedis(t, f, at)
	interactive(t, f, at)
	out := command(t, f.A(1), "redis-benchmark", "-h", at, "-t", "set,get", "-n", "20000", "-c", "20", "-d", "1000", "-q", "--csv")
	// The columns are: test, requests/s, and latencies in ms (mean, min, p50, p95, p99, max).
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		t.Logf("redis-benchmark %s", line)
		col := strings.Split(line, ",")
		if rate, err := strconv.ParseFloat(strings.Trim(col[1], `"`), 64); err != nil || rate < 1000 {
			t.Errorf("want at least 1000 requests a second")
		}
	}
}

func waitForRedis(t *testing.T, f *fabric.Fabric, at string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := f.A(1).Run("redis-cli", "-h", at, "ping")
		if err == nil && strings.TrimSpace(out) == "PONG" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("redis does not answer: ", err)
		}
	}
}

// interactive types commands into redis-cli one at a time.
func interactive(t *testing.T, f *fabric.Fabric, at string) {
	t.Helper()
	cmd := f.A(1).Command("redis-cli", "-h", at)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal("redis-cli does not start")
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	answers := bufio.NewScanner(out)
	start := time.Now()
	const rounds = 200
	for i := 1; i <= rounds; i++ {
		fmt.Fprintln(in, "INCR turns")
		if !answers.Scan() || answers.Text() != strconv.Itoa(i) {
			t.Fatalf("answer %d is %q", i, answers.Text())
		}
	}
	t.Logf("redis-cli: %.2f ms a turn", float64(time.Since(start).Microseconds())/1000/rounds)
}
