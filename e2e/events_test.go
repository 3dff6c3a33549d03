package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// sayWait bounds the wait for a line in the log. A silent peer is reported after 5 s, and on a busy
// machine later.
const sayWait = 30 * time.Second

// says counts the matching lines in the log of n. The returned function waits for one more matching
// line.
func says(t *testing.T, n *tunnel.Node, pattern string) (wait func() string) {
	t.Helper()
	had := len(lineWith(pattern).FindAllString(n.Log(), -1))
	return func() string {
		t.Helper()
		return hasSaid(t, n, pattern, had)
	}
}

func lineWith(pattern string) *regexp.Regexp { return regexp.MustCompile("(?m)^.*" + pattern + ".*$") }

// hasSaid waits until the log of n has more than `had` matching lines, and returns the last one.
func hasSaid(t *testing.T, n *tunnel.Node, pattern string, had int) string {
	t.Helper()
	re := lineWith(pattern)
	for end := time.Now().Add(sayWait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if lines := re.FindAllString(n.Log(), -1); len(lines) > had {
			t.Log(lines[len(lines)-1])
			return lines[len(lines)-1]
		}
	}
	t.Fatalf("%s does not say %q within %v, but\n%s", n.Name, pattern, sayWait, n.Log())
	return ""
}

// twoUplinks starts two nodes that are connected by two cables. Each node uses both of its
// addresses.
func twoUplinks(t *testing.T) (*fabric.Direct, *tunnel.Pair) {
	t.Helper()
	d := direct(t, fabric.DirectSpec{Links: 2})
	p := &tunnel.Pair{}
	for i, h := range []*fabric.Host{d.A, d.B} {
		c := tunnel.Config{SourcePorts: 4, Local: h.V4, Address: []netip.Prefix{
			netip.PrefixFrom(tunnel.Inner4(i+1), 24), netip.PrefixFrom(tunnel.Inner6(i+1), 64),
		}}
		n := node(t, h, string(rune('a'+i)), c)
		if i == 0 {
			p.A = n
		} else {
			p.B = n
		}
	}
	meet(p.A, p.B, "b", 2)
	meet(p.B, p.A, "a", 1)
	for _, n := range []*tunnel.Node{p.A, p.B} {
		must(t, n.Start())
	}
	must(t, p.A.Await(tunnel.Inner4(2)))
	return d, p
}

// meet makes other, whose inner addresses end in i, a peer of n.
func meet(n, other *tunnel.Node, name string, i int) {
	var at []netip.AddrPort
	for _, a := range other.Host.V4 {
		at = append(at, netip.AddrPortFrom(a, tunnel.DefaultPort))
	}
	n.Config.Peers = append(n.Config.Peers, tunnel.Peer{
		Name: name, PublicKey: other.PublicKey, Endpoints: at, Keepalive: time.Second,
		AllowedIPs: []netip.Prefix{
			netip.PrefixFrom(tunnel.Inner4(i), 32), netip.PrefixFrom(tunnel.Inner6(i), 128), netip.MustParsePrefix(fmt.Sprintf("10.99.%d.0/24", i)),
		},
	})
}

// do runs commands on a host.
func do(t *testing.T, h *fabric.Host, script string) string {
	t.Helper()
	return command(t, h, "sh", "-ec", script)
}

// TestLogTellsWhatHappened causes several faults in turn. The log and the output of "srdtun events"
// must contain a line for each fault.
func TestLogTellsWhatHappened(t *testing.T) {
	side(t)
	d, p := twoUplinks(t)
	beat, err := meter.StartHeartbeat(d.A, d.B, tunnel.Inner4(1), tunnel.Inner4(2))
	must(t, err)
	defer beat.Close()
	follower := follow(t, p.A)
	t.Run("uplink", func(t *testing.T) {
		for end := time.Now().Add(sayWait); !strings.Contains(p.A.Log(), "uplink-up: uplink 10.1.1.1 ") && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		down, up := says(t, p.A, `uplink-down: uplink 10\.1\.1\.1 \(eth0\): no path`), says(t, p.A, `uplink-up: uplink 10\.1\.1\.1 `)
		do(t, d.B, "nft 'table ip dead { chain i { type filter hook input priority 0; ip saddr 10.1.1.1 drop; }; }'")
		down()
		do(t, d.B, "nft delete table ip dead")
		up()
	})
	t.Run("routes", func(t *testing.T) { testRoutesAreBack(t, d, p.A) })
	t.Run("silence", func(t *testing.T) {
		silent, answers := says(t, p.A, "peer-silent: peer b: no answer for "), says(t, p.A, "peer-answers: peer b: ")
		p.B.Kill()
		silent()
		must(t, p.B.Start())
		answers()
	})
	t.Run("stranger", func(t *testing.T) { testStrangersAreTold(t, d, p.A) })
	t.Run("command", func(t *testing.T) { testEventsCommand(t, p.A, follower) })
}

// testRoutesAreBack removes addresses and routes of a tunnel, which the daemon must restore.
func testRoutesAreBack(t *testing.T, d *fabric.Direct, n *tunnel.Node) {
	routes := func() string {
		return do(t, n.Host, fmt.Sprintf("ip -o addr show dev %[1]s | sort; ip route show dev %[1]s | sort; ip -6 route show dev %[1]s | sort", n.Name))
	}
	// The output of ip depends on interface numbers, but on nothing else that may differ.
	before := routes()
	for _, hurt := range []string{"ip link set %[1]s down; ip link set %[1]s up", "ip addr flush dev %[1]s", "ip route del 10.99.2.0/24 dev %[1]s"} {
		back := says(t, n, "routes-restored: ")
		do(t, n.Host, fmt.Sprintf(hurt, n.Name))
		back()
		if after := routes(); after != before {
			t.Errorf("%s: there is\n%s\nand was\n%s", hurt, after, before)
		}
	}
	for _, to := range []netip.Addr{tunnel.Inner4(2), tunnel.Inner6(2)} {
		if err := n.Await(to); err != nil {
			t.Error(err)
		}
	}
}

// testStrangersAreTold lets two unknown hosts start handshakes. One host has an unknown key, and
// the other expects another host at this address.
func testStrangersAreTold(t *testing.T, d *fabric.Direct, n *tunnel.Node) {
	x := node(t, d.B, "x", tunnel.Config{SourcePorts: 2, ListenPort: 51999, Address: []netip.Prefix{netip.MustParsePrefix("10.77.0.1/24")}})
	y := node(t, d.B, "y", tunnel.Config{})
	meet(x, n, "n", 7)
	meet(x, n, "wrong", 8)
	x.Config.Peers[1].PublicKey = y.PublicKey
	unknown := says(t, n, `stranger-refused: refused: \d+ .*\(unknown_peer\), the last from 10\.1\.[12]\.2:\d+, who has the key `+regexp.QuoteMeta(x.PublicKey))
	wrong := says(t, n, `stranger-refused: refused: \d+ .*\(bad_mac1\), the last from 10\.1\.[12]\.2:\d+`)
	must(t, x.Start())
	unknown()
	wrong()
}

// follow runs "srdtun events --follow" until the test ends, and returns its output.
func follow(t *testing.T, n *tunnel.Node) (printed func() string) {
	t.Helper()
	var out fabric.Log
	cmd := exec.Command(bin, "events", n.Name, "--follow", "--json")
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("events --follow: %v\n%s", err, out.String())
		}
	})
	return out.String
}

// testEventsCommand compares the output of "srdtun events", with and without --follow, with the
// log.
func testEventsCommand(t *testing.T, n *tunnel.Node, follower func() string) {
	kinds := func(text []byte) (v []string) {
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			var e struct {
				Kind, Level, Text string
				Time              time.Time
			}
			if err := json.Unmarshal(s.Bytes(), &e); err != nil || e.Level == "" || e.Text == "" || time.Since(e.Time) > 10*time.Minute {
				t.Fatalf("%v in %s", err, s.Bytes())
			}
			v = append(v, e.Kind)
		}
		return v
	}
	out, err := exec.Command(bin, "events", n.Name, "--json").Output()
	must(t, err)
	all := kinds(out)
	for _, want := range []string{"started", "session-up", "uplink-down", "uplink-up", "routes-restored", "peer-silent", "peer-answers", "stranger-refused"} {
		n, logged := 0, strings.Count(n.Log(), " "+want+": ")
		for _, k := range all {
			if k == want {
				n++
			}
		}
		if n == 0 || n != logged {
			t.Errorf("%s: %d among %s, and %d in the log", want, n, all, logged)
		}
	}
	for end := time.Now().Add(sayWait); ; time.Sleep(50 * time.Millisecond) {
		seen := strings.Join(kinds([]byte(follower())), " ")
		if strings.Contains(seen, "peer-answers") && strings.Contains(seen, "stranger-refused") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the follower saw %s", seen)
		}
	}
	out, err = exec.Command(bin, "events", n.Name, "--since", "0s").Output()
	if err != nil || len(out) != 0 {
		t.Errorf("since now: %s, %v", out, err)
	}
}

// one starts two nodes with one cable and few paths. The function prepare may change the nodes
// before their start.
func one(t *testing.T, prepare func(a, b *tunnel.Node)) (d *fabric.Direct, a, b *tunnel.Node) {
	t.Helper()
	d = direct(t, fabric.DirectSpec{})
	a = node(t, d.A, "a", tunnel.Config{SourcePorts: 2, Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	b = node(t, d.B, "b", tunnel.Config{SourcePorts: 2, Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)}})
	meet(a, b, "b", 2)
	meet(b, a, "a", 1)
	prepare(a, b)
	for _, n := range []*tunnel.Node{b, a} {
		must(t, n.Start())
	}
	return d, a, b
}

// In TestLogTellsOfSmallPackets, only packets of up to 1,100 bytes pass, so handshakes and pings
// pass, but no larger packets.
func TestLogTellsOfSmallPackets(t *testing.T) {
	side(t)
	_, a, _ := one(t, func(a, b *tunnel.Node) {
		do(t, b.Host, "nft 'table ip small { chain i { type filter hook input priority 0; ip length > 1100 drop; }; }'")
	})
	hasSaid(t, a, "path-mtu-too-low: peer b: small packets pass, but none of 1228 bytes", 0)
}

// TestLogTellsOfAWrongPresharedKey configures different preshared keys at the two ends.
func TestLogTellsOfAWrongPresharedKey(t *testing.T) {
	side(t)
	_, a, _ := one(t, func(a, b *tunnel.Node) {
		a.Config.Peers[0].PresharedKey = strings.Repeat("A", 42) + "E="
	})
	hasSaid(t, a, "handshake-mismatch: peer b: ", 0) // milliseconds after the start
}

// TestLogTellsOfAMove changes the address of one end.
func TestLogTellsOfAMove(t *testing.T) {
	side(t)
	d, a, b := one(t, func(a, b *tunnel.Node) {})
	must(t, a.Await(tunnel.Inner4(2)))
	for end := time.Now().Add(sayWait); !strings.Contains(b.Log(), "session-up: ") && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	gone, here := says(t, a, `uplink-down: uplink 10\.1\.1\.1 \(eth0\): this host no longer has this address`), says(t, a, `uplink-up: uplink 10\.1\.1\.81 \(eth0\)`)
	moved := says(t, b, `peer-moved: peer a: it is at 10\.1\.1\.81 now, and was at 10\.1\.1\.1$`)
	renumber(t, d.A, "10.1.1.1", "10.1.1.81")
	here()
	moved()
	gone()
}
