package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// configDir makes a directory of configuration files, and returns a function that runs srdtun with
// it. The function returns the output, and after a failure the exit code before it.
func configDir(t *testing.T, h *fabric.Host) (dir string, run func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	return dir, func(args ...string) string {
		out, err := h.Run("sh", append([]string{"-c", `export SRDTUN_CONFIG_DIR="$0"; "$@" 2>&1 || echo "exit code $?"`, dir, bin}, args...)...)
		must(t, err)
		return out
	}
}

// Two files name one device. While the first file's interface runs, the commands set, reload and
// down with the second file refuse, and name both files. "check" foresees that "up" refuses.
func TestSecondFileOfADevice(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir, run := configDir(t, f.A(1))
	a, b := node(t, f.A(1), "f", tunnel.Config{}), node(t, f.A(1), "g", tunnel.Config{})
	a.File, b.File = filepath.Join(dir, "a.toml"), filepath.Join(dir, "b.toml")
	for _, n := range []*tunnel.Node{a, b} {
		n.Config.Extra = "name = \"" + a.Name + "\"\n"
		must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
	}
	must(t, a.Start())
	for _, c := range [][]string{{"set", "b", "paths.policy=ecmp"}, {"set", "--save", b.File, "paths.policy=ecmp"}, {"reload", "b"}, {"reload", b.File}, {"down", "b"}, {"down", b.File}} {
		out := run(c...)
		wants(t, strings.Join(c, " "), out, "srdtun: "+b.File+" is not running: its device "+a.Name+" runs from "+a.File+";")
		wants(t, strings.Join(c, " "), out, "exit code 3")
	}
	wants(t, "check", run("check", "b"), "interface.name: the start would fail now: "+a.Name+" runs already, from "+a.File+" (warning)")
	wants(t, "up", run("up", "-d", "b"), a.Name+" is already running, from "+a.File+"\nexit code 1")
	if !a.Running() || strings.Contains(a.Log(), "changed") {
		t.Errorf("the interface of the first file: %s", a.Log())
	}
	for _, c := range [][]string{{"set", a.Name, "paths.policy=ecmp"}, {"reload", "a"}, {"down", a.Name}} {
		if out := run(c...); strings.Contains(out, "exit code") {
			t.Errorf("%q: %s", c, out)
		}
	}
}
