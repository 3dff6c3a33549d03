package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// snapshot returns the network configuration of a host, and the interface's files.
func snapshot(t *testing.T, n *tunnel.Node) string {
	t.Helper()
	var b strings.Builder
	for _, c := range []string{"-o link show", "-o addr show", "route show table all", "-6 route show table all", "rule show", "-6 rule show"} {
		out := command(t, n.Host, "ip", strings.Fields(c)...)
		b.WriteString("# ip " + c + "\n" + out)
	}
	files, _ := filepath.Glob("/run/srdtun/" + n.Name + ".*") // other tests' nodes may have a longer name
	for _, f := range files {
		// The log of a background daemon stays, because it contains the reason for the end.
		if filepath.Ext(f) != ".log" {
			b.WriteString(f + "\n")
		}
	}
	return b.String()
}

// wantUnchanged compares two snapshots. The kernel removes some state of a device with a delay, so
// the second snapshot is repeated for a while.
func wantUnchanged(t *testing.T, n *tunnel.Node, before string) {
	t.Helper()
	var after string
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if after = snapshot(t, n); after == before {
			return
		}
	}
	t.Errorf("something is left behind.\n---- before\n%s---- after\n%s", before, after)
}

// everywhere returns a node with a configuration that changes more than its own device: routes,
// policy rules, and a table for a default route through the tunnel.
func everywhere(t *testing.T, f *fabric.Fabric) *tunnel.Node {
	t.Helper()
	b := node(t, f.B(1), "b", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2), 24)}})
	a := node(t, f.A(1), "a", tunnel.Config{
		Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24), netip.PrefixFrom(tunnel.Inner6(1), 64)},
		Peers: []tunnel.Peer{{
			Name: "b", PublicKey: b.PublicKey, Endpoints: []netip.AddrPort{netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort)},
			AllowedIPs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"), netip.MustParsePrefix("192.0.2.0/24")},
		}},
	})
	return a
}

func TestNothingRemains(t *testing.T) {
	side(t)
	for _, way := range []struct {
		name string
		end  func(t *testing.T, n *tunnel.Node)
	}{
		{"down", func(t *testing.T, n *tunnel.Node) {
			if err := n.Down(); err != nil {
				t.Error(err)
			}
		}},
		{"SIGTERM", func(t *testing.T, n *tunnel.Node) {
			if err := n.Stop(); err != nil {
				t.Error(err)
			}
		}},
		{"kill -9 and restart", func(t *testing.T, n *tunnel.Node) {
			n.Kill()
			must(t, n.Start())
			if err := n.Stop(); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			n := everywhere(t, network(t, fabric.Spec{Spines: 1}))
			before := snapshot(t, n)
			must(t, n.Start())
			if during := snapshot(t, n); during == before {
				t.Fatal("the daemon has set nothing up, so there is nothing to leave behind")
			}
			way.end(t, n)
			wantUnchanged(t, n, before)
		})
	}
}

// TestBackgroundAndDown starts a daemon with "up -d", which returns when traffic can flow, and ends
// the daemon with "down".
func TestBackgroundAndDown(t *testing.T) {
	side(t)
	n := everywhere(t, network(t, fabric.Spec{Spines: 1}))
	must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
	before := snapshot(t, n)
	command(t, n.Host, "timeout", "10", bin, "up", "-d", n.File)
	if _, err := n.Host.Run("ip", "link", "show", n.Name); err != nil {
		t.Error("up -d returned before the device was there: ", err)
	}
	if _, err := n.Show(); err != nil {
		t.Error(err)
	}
	if names := processNames(n.Host.Pids()); !slices.Contains(names, "srdtun") {
		t.Errorf("the processes are called %q", names)
	}
	if out, err := exec.Command(bin, "down", n.Name).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	wantUnchanged(t, n, before)
	if err := exec.Command(bin, "show", n.Name).Run(); exitCode(err) != 3 {
		t.Errorf("show after down: %v, want exit code 3", err)
	}
}

// processNames returns the names of processes as shown by ps and top.
func processNames(pids []int) (names []string) {
	for _, p := range pids {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p)) // it may have ended
		names = append(names, strings.TrimSpace(string(name)))
	}
	return names
}

// exitCode returns the exit code of a finished command, or 0 without an error.
func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// TestConfigErrorsLeaveNothing makes a valid configuration invalid in one place at a time.
func TestConfigErrorsLeaveNothing(t *testing.T) {
	side(t)
	n := everywhere(t, network(t, fabric.Spec{Spines: 1}))
	good := string(n.Config.TOML())
	before := snapshot(t, n)
	for _, c := range []struct{ name, old, new, key string }{
		{"unknown key", "listen_port", "listen_prot", "listen_prot"},
		{"mistyped value", "listen_port = 51820", `listen_port = "many"`, "listen_port"},
		{"bad prefix", "192.0.2.0/24", "192.0.2.0/33", "allowed_ips"},
		{"duplicate prefix", `"192.0.2.0/24"`, `"192.0.2.0/24", "192.0.2.0/24"`, "allowed_ips"},
		{"short key", `public_key = "`, `public_key = "x`, "public_key"},
		{"port out of range", "listen_port = 51820", "listen_port = 70000", "listen_port"},
		{"no TOML", "[interface]", "[interface", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := strings.Replace(good, c.old, c.new, 1)
			if broken == good {
				t.Fatal("nothing was broken")
			}
			wantRefused(t, n, broken, 0o600, c.key)
			wantUnchanged(t, n, before)
		})
	}
	t.Run("readable by others", func(t *testing.T) {
		wantRefused(t, n, good, 0o644, "")
		wantUnchanged(t, n, before)
	})
}

// wantRefused requires the exit code 78, and one line that names the file and the key.
func wantRefused(t *testing.T, n *tunnel.Node, text string, mode os.FileMode, key string) {
	t.Helper()
	must(t, os.WriteFile(n.File, []byte(text), mode))
	must(t, os.Chmod(n.File, mode))
	p, err := n.Host.Start(bin, "up", n.File)
	must(t, err)
	err = p.Wait(10 * time.Second)
	said := p.Log.String()
	if exitCode(err) != 78 {
		t.Errorf("%v, want exit code 78", err)
	}
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, n.File) || !strings.Contains(said, key) {
		t.Errorf("said %q, want one line with the file and %q", said, key)
	}
}
