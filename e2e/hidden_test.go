package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// A plain "go build" links the C library if a C compiler exists. Such a binary must drop its
// privileges in every thread, like the released binary.
func TestPlainBuildGivesUpPrivileges(t *testing.T) {
	long(t)
	plain := filepath.Join(t.TempDir(), "srdtun")
	build := exec.Command("go", "build", "-o", plain, "github.com/srdtun/srdtun/cmd/srdtun")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	was := bin
	bin = plain
	defer func() { bin = was }()
	f := network(t, fabric.Spec{})
	for _, uid := range []int{0, 1234} {
		t.Run(fmt.Sprintf("directory of user %d", uid), func(t *testing.T) {
			ownRunDir(t, uid)
			p := pair(t, f, tunnel.Config{})
			if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.A.Pid())); err != nil || !bytes.Contains(maps, []byte("libc.so")) {
				t.Fatalf("the C library is not linked in: %v", err)
			}
			wantConfined(t, p.A.Pid(), uid)
			if log := p.A.Log(); strings.Contains(log, "privileges") {
				t.Error(log)
			}
		})
	}
}

// While a daemon starts, a process with the same user and capability must not be able to read the
// key from the daemon's memory. The daemon hides its memory before it reads the key.
func TestStartingDaemonIsUnreadable(t *testing.T) {
	side(t)
	const user = "1234"
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "h", tunnel.Config{Extra: "pre_up = [[\"sleep\", \"60\"]]\n"})
	dir := t.TempDir()
	reachable(t, dir)
	file := filepath.Join(dir, n.Name+".toml")
	must(t, os.WriteFile(file, n.Config.TOML(), 0o600))
	program := filepath.Join(dir, "srdtun")
	for _, c := range [][]string{{"chown", "-R", user, dir}, {"cp", bin, program}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	as := []string{"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", "--inh-caps=+net_admin", "--ambient-caps=+net_admin"}
	daemon := exec.Command(as[0], append(as[1:], "env", "SRDTUN_RUN_DIR="+dir, program, "up", file)...)
	var said bytes.Buffer
	daemon.Stderr = &said
	must(t, daemon.Start())
	defer func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	}()
	pid := fmt.Sprint(daemon.Process.Pid)
	var hook int
	for end := time.Now().Add(20 * time.Second); hook == 0; time.Sleep(10 * time.Millisecond) {
		if b, err := exec.Command("pgrep", "-P", pid, "sleep").Output(); err == nil {
			hook, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		if time.Now().After(end) {
			t.Fatalf("pre_up does not run: %s", said.String())
		}
	}
	defer syscall.Kill(hook, syscall.SIGKILL) // the hook is in a separate process group
	limits, err := os.ReadFile("/proc/" + pid + "/limits")
	must(t, err)
	if !regexp.MustCompile(`(?m)^Max core file size +0 +0 +bytes`).Match(limits) {
		t.Errorf("it may write a core file:\n%s", limits)
	}
	for _, what := range []string{"mem", "environ", "maps"} {
		out, err := exec.Command(as[0], append(as[1:], "sh", "-c", "exec <\"/proc/$0/$1\"", pid, what)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ermission denied") {
			t.Errorf("%s: %v %s", what, err, out)
		}
	}
}
