package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// netAdmin is the capability set with only CAP_NET_ADMIN in /proc/PID/status.
const netAdmin = "0000000000001000"

// ownRunDir creates a folder for the test's sockets, which belongs to the user uid.
func ownRunDir(t *testing.T, uid int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	reachable(t, filepath.Dir(dir))
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, uid, uid)))
	t.Setenv("SRDTUN_RUN_DIR", dir)
	return dir
}

// A daemon that root has started must keep only one capability in every thread, and must still end
// without errors.
func TestDaemonGivesUpPrivileges(t *testing.T) {
	f := network(t, fabric.Spec{})
	for _, uid := range []int{0, 1234} {
		t.Run(fmt.Sprintf("directory of user %d", uid), func(t *testing.T) {
			dir := ownRunDir(t, uid)
			p := pair(t, f, tunnel.Config{Extra: "fwmark = 7\n"})
			wantConfined(t, p.A.Pid(), uid)
			if uid != 0 {
				wantUnreadable(t, p.A.Pid())
			}
			for _, n := range []*tunnel.Node{p.A, p.B} {
				if err := n.Down(); err != nil {
					t.Error(err)
				}
				if log := n.Log(); strings.Contains(log, "privileges") {
					t.Error(log)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the run directory: %v, %v", left, err)
			}
		})
	}
}

// reachable makes the files of a test accessible to every user, because temporary folders belong to
// root.
func reachable(t *testing.T, dir string) {
	t.Helper()
	scratch, err := fabric.Scratch()
	must(t, err)
	for _, d := range []string{scratch, dir, filepath.Dir(dir)} {
		must(t, os.Chmod(d, 0o711))
	}
}

func wantConfined(t *testing.T, pid, uid int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	none := strings.Repeat("0", len(netAdmin))
	for _, file := range threads {
		status, err := os.ReadFile(file)
		must(t, err)
		for field, want := range map[string]string{
			"CapInh": none, "CapPrm": netAdmin, "CapEff": netAdmin, "CapBnd": netAdmin, "CapAmb": none, "NoNewPrivs": "1",
			"Uid": strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d\t", uid), 4)),
		} {
			got := regexp.MustCompile(`(?m)^` + field + `:\s*(.*)$`).FindSubmatch(status)
			if got == nil || string(got[1]) != want {
				t.Errorf("%s: %s %q, want %q", file, field, got, want)
			}
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size\s+0\s+0\s`).Match(limits) {
		t.Errorf("core files are not forbidden: %v\n%s", err, limits)
	}
}

// wantUnreadable checks that not even a process of the same user may read the process's memory. In
// this case, its files in /proc belong to root.
func wantUnreadable(t *testing.T, pid int) {
	t.Helper()
	st, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("memory can be read: %v, %v", st, err)
	}
}
