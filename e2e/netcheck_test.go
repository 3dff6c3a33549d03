package e2e

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// waysSeen matches the number of equal-cost routes that netcheck counted.
var waysSeen = regexp.MustCompile(`at least (\d+)`)

// TestNetcheckSeesTheFabric runs netcheck over four spines, of which one then fails.
func TestNetcheckSeesTheFabric(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	iperf(t, f, tunnel.Inner4(2))
	// The MTU discovery of each path takes several round trips.
	await(t, "MTU of all paths", func() bool {
		out, _ := f.A(1).Run(bin, "netcheck", "--quick", p.A.Name)
		return regexp.MustCompile(`ok +path MTU +1500`).MatchString(out)
	})
	out, err := f.A(1).Run(bin, "netcheck", p.A.Name, "b")
	t.Logf("%s", out)
	must(t, err)
	m := waysSeen.FindStringSubmatch(out)
	if m == nil {
		t.Fatal("no ways are told of")
	}
	// The probability that one spine gets none of 32 ports is 1/2500.
	if n, _ := strconv.Atoi(m[1]); n < 3 || n > 4 {
		t.Errorf("%d ways over four spines", n)
	}
	for _, want := range []string{`ok +session +the peer answers`, `ok +source ports +32 of 32 pass`, `ok +path MTU +1500`, `ok +system calls`, `ok +ECN in +ECN marks arrive on all \d+ paths`, `ok +ECN out +not visible from here`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%q is missing", want)
		}
	}
	netcheckThere(t, p.A, p.B, `(?s)ok +ports on the way +the peer sees packets from \d+ addresses and ports, all of them.*ok +ECN out +at the peer: ECN marks arrive on all`)
	must(t, f.Break(2))
	down := regexp.MustCompile(`warning +paths +\d+ of \d+ work`)
	await(t, "finding that paths are down", func() bool {
		// A failure is detected only if packets are sent on the path.
		_, _ = f.A(1).Run("ping", "-c", "20", "-i", "0.01", "-W", "1", tunnel.Inner4(2).String())
		out, _ = f.A(1).Run(bin, "netcheck", "--quick", p.A.Name)
		return down.MatchString(out)
	})
	t.Logf("%s", out)
	report, err := f.A(1).Run(bin, "bugreport", p.A.Name)
	if err != nil || !regexp.MustCompile(`(?s)== netcheck, peer b.*== show --json.*== \["ip" "addr"\]`).MatchString(report) {
		t.Errorf("%v\n%s", err, report)
	}
}

// netcheckThere compares the ports of b with the ports that a sees, and checks the output of
// netcheck.
func netcheckThere(t *testing.T, a, b *tunnel.Node, want string) {
	t.Helper()
	shown, err := b.Show()
	must(t, err)
	file := filepath.Join(t.TempDir(), "there.json")
	must(t, os.WriteFile(file, shown, 0o600))
	out, err := a.Host.Run(bin, "netcheck", "--quick", "--there", file, a.Name)
	if err != nil || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%v, want %s in\n%s", err, want, out)
	}
}

// In TestNetcheckSeesClearedMarks, one of four spines clears the ECN field. The output of netcheck
// must contain the number of affected paths.
func TestNetcheckSeesClearedMarks(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	must(t, f.Bleach(1))
	p := pair(t, f, tunnel.Config{})
	iperf(t, f, tunnel.Inner4(2))
	text, err := p.B.Host.Run(bin, "netcheck", "--quick", p.B.Name)
	t.Logf("%s", text)
	must(t, err)
	m := regexp.MustCompile(`warning +ECN in +on (\d+) of (\d+) paths`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no paths without marks are told of")
	}
	// Each path uses one of four spines, so the number has a binomial distribution with n and 1/4.
	// Here n is the number of paths that either end opened, not the number of one end's ports. A
	// deviation of more than five standard deviations has a probability of 1e-6.
	bleached, _ := strconv.Atoi(m[1])
	n, _ := strconv.Atoi(m[2])
	mean := float64(n) / 4
	if math.Abs(float64(bleached)-mean) > 5*math.Sqrt(mean*3/4) {
		t.Errorf("%d of %d paths over one of four spines", bleached, n)
	}
}

// TestJumboFramesAreFound raises the MTU at both ends of the cable, and then lowers the MTU at one
// end.
func TestJumboFramesAreFound(t *testing.T) {
	side(t)
	for _, c := range []struct {
		a, b int
		want string
	}{
		{8900, 8900, `ok +path MTU +8900, found by itself`},
		{9000, 1500, `ok +path MTU +1500, although the device here takes 9000`},
	} {
		d := direct(t, fabric.DirectSpec{})
		do(t, d.A, fmt.Sprintf("ip link set eth0 mtu %d", c.a))
		do(t, d.B, fmt.Sprintf("ip link set eth0 mtu %d", c.b))
		p, err := tunnel.NewPair(bin, d.A, d.B, tunnel.Config{}, false)
		if p != nil {
			cleanUp(t, p)
		}
		must(t, err)
		bulk(t, d)
		var out string
		await(t, "MTU of all paths", func() bool {
			out, _ = d.A.Run(bin, "netcheck", "--quick", p.A.Name)
			return regexp.MustCompile(c.want).MatchString(out)
		})
		t.Logf("%s", out)
	}
}

// TestNetcheckHasNoVainRemedy runs netcheck at a hub that waits for calls, and at an end whose
// paths.local names the loopback device. The advice must not name a step that cannot help.
func TestNetcheckHasNoVainRemedy(t *testing.T) {
	side(t)
	d, hub, caller := waiting(t)
	caller.Config.Interfaces = []string{"lo"}
	must(t, hub.Start())
	must(t, caller.Start())
	for n, want := range map[*tunnel.Node]string{hub: "the peer has not called yet, and no endpoint is configured here", caller: "lo belongs to the loopback device"} {
		await(t, want, func() bool {
			out, _ := n.Host.Run("sh", "-c", bin+" netcheck --quick "+n.Name+" 2>&1")
			return strings.Contains(out, want) && !strings.Contains(out, "A ping starts") && !strings.Contains(out, "ip route add")
		})
	}
	if out := cli(t, d.A, "show", caller.Name) + health(t, caller) + cli(t, d.A, "events", caller.Name); strings.Contains(out, "ip route add") {
		t.Errorf("a route cannot help: %s", out)
	}
}

// TestNetcheckNamesThePresharedKey gives two ends different preshared keys, or only one of them a
// key. netcheck must name the key as a possible cause at both ends, and --there must see that one
// key is missing. After the same key was set at both ends, there is no fault.
func TestNetcheckNamesThePresharedKey(t *testing.T) {
	side(t)
	for name, keys := range map[string][2]string{
		"other keys":     {strings.Repeat("A", 42) + "E=", strings.Repeat("B", 42) + "E="},
		"one end has it": {strings.Repeat("A", 42) + "E=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := direct(t, fabric.DirectSpec{})
			prefix := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)} }
			a, b := node(t, d.A, "a", tunnel.Config{Address: prefix(1)}), node(t, d.B, "b", tunnel.Config{Address: prefix(2)})
			to := netip.AddrPortFrom(d.B.Addr4(), tunnel.DefaultPort)
			a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, PresharedKey: keys[0], AllowedIPs: prefix(2), Endpoints: []netip.AddrPort{to}, Keepalive: time.Second}}
			b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, PresharedKey: keys[1], AllowedIPs: prefix(1)}}
			must(t, b.Start())
			must(t, a.Start())
			for _, c := range []struct {
				n    *tunnel.Node
				want string
			}{{a, `fault +session +answers of the peer to handshakes did not decrypt`}, {b, `fault +session +the peer has completed no handshake yet`}} {
				re := regexp.MustCompile(c.want + `\n.*\n +do: +is preshared_key the same at both ends`)
				await(t, c.want, func() bool {
					out, err := c.n.Host.Run(bin, "netcheck", "--quick", c.n.Name)
					return err != nil && re.MatchString(out)
				})
			}
			if keys[1] == "" {
				shown, err := b.Show()
				must(t, err)
				file := filepath.Join(t.TempDir(), "there.json")
				must(t, os.WriteFile(file, shown, 0o600))
				out, _ := d.A.Run(bin, "netcheck", "--quick", "--there", file, a.Name)
				wants(t, "netcheck", out, "only one end has a preshared key")
			}
			cli(t, d.B, "set", b.Name, "peer.a.preshared_key="+keys[0])
			await(t, "session", func() bool {
				out, err := d.A.Run(bin, "netcheck", "--quick", a.Name)
				return err == nil && regexp.MustCompile(`ok +session +the peer answers`).MatchString(out)
			})
		})
	}
}
