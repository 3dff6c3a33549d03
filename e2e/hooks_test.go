package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// capable copies ping, and gives the copy the file capability of Debian's ping.
func capable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	reachable(t, dir)
	text, err := os.ReadFile("/usr/bin/ping")
	must(t, err)
	file := filepath.Join(dir, "ping")
	must(t, os.WriteFile(file, text, 0o755))
	// The bytes are the effective flag and version 2, and then the permitted and the inheritable
	// set (setcap cap_net_raw=ep).
	v2 := []byte{1, 0, 0, 2, 0, 1 << (unix.CAP_NET_RAW - 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	must(t, unix.Setxattr(file, "security.capability", v2, 0))
	return file
}

// If root starts a daemon, the daemon's commands may run programs with file capabilities, such as
// ping. They may do so even after the daemon itself has dropped its capabilities.
func TestCommandsPing(t *testing.T) {
	ping := capable(t)
	f := network(t, fabric.Spec{})
	do(t, f.A(1), "sysctl -qw net.ipv4.ping_group_range='1 0'") // it is a raw socket, or none
	for _, uid := range []int{0, 1234} {
		t.Run(fmt.Sprintf("directory of user %d", uid), func(t *testing.T) {
			ownRunDir(t, uid)
			pings := ""
			for _, key := range []string{"pre_up", "post_up", "pre_down", "post_down"} {
				pings += fmt.Sprintf("%s = [[%q, \"-qc1\", \"-w9\", %q]]\n", key, ping, f.B(1).Addr4())
			}
			n := node(t, f.A(1), "p", tunnel.Config{Extra: pings})
			must(t, n.Start())
			wantConfined(t, n.Pid(), uid)
			pid := n.Pid()
			if err := n.Down(); err != nil {
				t.Error(err)
			}
			if log := n.Log(); strings.Count(log, "1 received") != 4 {
				t.Errorf("not four pings were answered: %s", log)
			}
			// The process that runs commands must end with the daemon.
			if out, err := f.A(1).Run("pgrep", "-f", "run-commands"); err == nil && strings.Contains(out, fmt.Sprint(pid)) {
				t.Errorf("left: %s", out)
			}
		})
	}
}

// The process that runs commands must also end with a killed daemon.
func TestCommandsEndWithAKilledDaemon(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "p", tunnel.Config{Extra: "post_up = [[\"true\"]]\n"})
	must(t, n.Start())
	out, err := f.A(1).Run("pgrep", "-P", fmt.Sprint(n.Pid()))
	if err != nil {
		t.Fatalf("there is no such process: %v", err)
	}
	second := strings.TrimSpace(out)
	n.Kill()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + second + "/exe"); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %s goes on", second)
		}
	}
}

// The kernel may refuse a command the file's capabilities, for example in a service. The error
// message must say so.
func TestRefusedCommandIsExplained(t *testing.T) {
	side(t)
	ping := capable(t)
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "p", tunnel.Config{Extra: fmt.Sprintf("post_up = [[%q, \"-c1\", \"127.0.0.1\"]]\n", ping)})
	must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
	p, err := f.A(1).Start("setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all,+net_admin", bin, "up", n.File)
	must(t, err)
	err = p.Wait(20 * time.Second)
	if said := p.Log.String(); err == nil || !strings.Contains(said, "interface.post_up: ") || !strings.Contains(said, "its file has CAP_NET_RAW, which commands may not have here") {
		t.Errorf("%v: %s", err, said)
	}
}

// If commands at the end fail, "srdtun down" names each of them with its exit status, and ends with
// exit code 1. Even a command that takes some seconds is waited for. The interface is gone, and
// with the daemon's exit code 78 systemd does not start it again.
func TestFailingEndCommandsAreTold(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "p", tunnel.Config{Extra: "pre_down = [[\"sh\", \"-c\", \"sleep 6; echo oh; exit 3\"]]\npost_down = [[\"false\"]]\n"})
	must(t, n.Start())
	text := n.Config.TOML()
	line := func(key string) int { return 1 + strings.Count(strings.SplitN(string(text), key+" = ", 2)[0], "\n") }
	err := n.Down()
	for _, want := range []string{
		"exit status 1: srdtun: " + n.Name + " is gone, but ",
		fmt.Sprintf("%s:%d: interface.pre_down: sh: exit status 3: oh", n.File, line("pre_down")),
		fmt.Sprintf("%s:%d: interface.post_down: false: exit status 1", n.File, line("post_down")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if out, err := f.A(1).Run("ip", "link", "show", n.Name); err == nil {
		t.Errorf("left: %s", out)
	}
	if err := n.Stop(); err == nil || !strings.Contains(err.Error(), "exit status 78") {
		t.Errorf("the daemon: %v", err)
	}
}
