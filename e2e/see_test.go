package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// maxUnseen bounds the time from the daemon's event about failed paths until the screen shows the
// failure. The documented time is one second, and a busy machine may take another second to draw.
const maxUnseen = 2 * time.Second

// terminal is a pseudo-terminal of 80 x 24 characters in which a program runs.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File
	log    fabric.Log
	ended  chan error
}

// openTerminal runs a program in a new terminal, as ssh does (pts(4)).
func openTerminal(t *testing.T, name string, args ...string) *terminal {
	t.Helper()
	master, slave, err := newPTY()
	must(t, err)
	defer slave.Close()
	v := &terminal{cmd: exec.Command(name, args...), master: master, ended: make(chan error, 1)}
	v.cmd.Stdin, v.cmd.Stdout, v.cmd.Stderr = slave, slave, slave
	v.cmd.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR=1")
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := v.cmd.Start(); err != nil {
		master.Close()
		t.Fatal(err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			v.log.Write(buf[:n])
			if err != nil { // EIO once the program has ended
				return
			}
		}
	}()
	go func() { v.ended <- v.cmd.Wait() }()
	t.Cleanup(func() {
		_ = v.cmd.Process.Kill()
		master.Close()
		<-copied
	})
	return v
}

func newPTY() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// await waits until the program has written the text after its first `before` bytes of output, and
// returns the time.
func (v *terminal) await(t *testing.T, before int, text string, most time.Duration) time.Time {
	t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		if s := v.log.String(); strings.Contains(s[min(before, len(s)):], text) {
			return time.Now()
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not on the screen after %v:\n%q", text, most, v.log.String())
		}
	}
}

// quit presses the key q, and waits for the end of the program.
func (v *terminal) quit(t *testing.T) {
	t.Helper()
	if _, err := v.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-v.ended:
		if err != nil {
			t.Errorf("top ended: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("q does not end top")
	}
}

// pathStates counts the paths of the first peer by their state.
func pathStates(t *testing.T, n *tunnel.Node) map[string]int {
	t.Helper()
	raw, err := n.Show()
	must(t, err)
	var st struct {
		Schema int
		Peers  []struct{ Paths []struct{ State string } }
	}
	if err := json.Unmarshal(raw, &st); err != nil || st.Schema != 1 {
		t.Fatalf("schema %d, %v", st.Schema, err)
	}
	v := map[string]int{}
	for _, p := range st.Peers[0].Paths {
		v[p.State]++
	}
	return v
}

// awaitStates waits until ok returns true for the states of the paths.
func awaitStates(t *testing.T, n *tunnel.Node, what string, ok func(map[string]int) bool) time.Time {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		v := pathStates(t, n)
		if ok(v) {
			return time.Now()
		}
		if time.Now().After(end) {
			t.Fatalf("%s: never; the paths are %v", what, v)
		}
	}
}

// asked runs a command, which must end with the exit code `code`, and returns its output.
func asked(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, err := exec.Command(bin, args...).CombinedOutput()
	if got := exitCode(err); got != code {
		t.Errorf("srdtun %s ended with %d, want %d: %s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// A spine fails under load. "srdtun top" must show the failure within a second, and "show --check"
// must report a fault. "flows" and "ping" must show the current state.
func TestDeadSpineIsSeen(t *testing.T) {
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	fl := flow(f, 4)
	fl.For = 40 * time.Second
	load, err := meter.Start(fl)
	must(t, err)
	defer load.Stop()
	awaitStates(t, p.A, "all paths up", func(v map[string]int) bool { return v["active"] >= 32 && v["down"]+v["suspect"] == 0 })
	screen := openTerminal(t, bin, "top", p.A.Name)
	screen.await(t, 0, "####", 10*time.Second)
	seesFlows(t, p)
	if s := asked(t, 0, "ping", p.A.Name, "b", "--all-paths", "-c", "1"); strings.Count(s, ":51820") < 16 {
		t.Errorf("ping: %s", s)
	}

	before := len(screen.log.String())
	must(t, f.Break(1))
	known := awaitStates(t, p.A, "paths down", func(v map[string]int) bool { return v["down"] > 0 })
	seen := screen.await(t, before, "x", 10*time.Second)
	t.Logf("on the screen %v after the daemon knew", seen.Sub(known))
	if seen.Sub(known) > maxUnseen {
		t.Errorf("a dead spine is on the screen %v after the daemon knows of it", seen.Sub(known))
	}
	if s := asked(t, 4, "show", p.A.Name, "--check"); !strings.Contains(s, "is degraded: peer b: ") || strings.Count(s, "\n") != 1 {
		t.Errorf("show --check: %s", s)
	}

	must(t, f.Heal())
	awaitStates(t, p.A, "all paths up again", func(v map[string]int) bool { return v["down"]+v["suspect"] == 0 })
	screen.quit(t)
	screen.await(t, before, leaves, 10*time.Second)
}

// TestPeerThatLeftIsSeen stops one end with a goodbye. The other end must immediately show that the
// peer left, count no path as up, and fail the check, until the peer returns.
func TestPeerThatLeftIsSeen(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p, err := tunnel.NewPair(bin, d.A, d.B, tunnel.Config{}, false)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	command(t, d.A, "ping", "-c", "30", "-i", "0.01", tunnel.Inner4(2).String())
	if s := asked(t, 0, "show", p.A.Name, "--check"); !strings.Contains(s, ": ok: 1 peer, ") {
		t.Errorf("show --check: %s", s)
	}
	must(t, p.B.Down())
	if s := asked(t, 4, "show", p.A.Name, "--check"); !strings.Contains(s, "is degraded: peer b: left ") {
		t.Errorf("show --check: %s", s)
	}
	s := asked(t, 0, "show", p.A.Name)
	if !regexp.MustCompile(`\n  left: (Now|[12] seconds? ago): the peer ended the session\n`).MatchString(s) || !strings.Contains(s, "\n  paths: 0 of ") {
		t.Errorf("show: %s", s)
	}
	must(t, p.B.Start())
	command(t, d.A, "ping", "-c", "3", "-i", "0.2", tunnel.Inner4(2).String())
	if s := asked(t, 0, "show", p.A.Name, "--check"); !strings.Contains(s, ": ok: 1 peer, ") {
		t.Errorf("show --check after the peer is back: %s", s)
	}
}

// leaves is the escape sequence by which a program restores the screen (xterm's rmcup).
const leaves = "\x1b[?1049l"

// seesFlows fails the test unless the four connections of the load are the largest flows.
func seesFlows(t *testing.T, p *tunnel.Pair) {
	t.Helper()
	var v struct {
		Flows []struct {
			Protocol, Remote string
			Tx               uint64 `json:"tx_bytes"`
		}
	}
	must(t, json.Unmarshal([]byte(asked(t, 0, "flows", p.A.Name, "--json")), &v))
	if len(v.Flows) < 4 {
		t.Fatalf("%d flows", len(v.Flows))
	}
	for _, f := range v.Flows[:4] {
		if f.Protocol != "tcp" || !strings.HasPrefix(f.Remote, tunnel.Inner4(2).String()+":") || f.Tx < 100_000 {
			t.Errorf("flow %+v", f)
		}
	}
}
