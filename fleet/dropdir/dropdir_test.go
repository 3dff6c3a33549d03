package dropdir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/fleet"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var v []string
	for _, e := range entries {
		v = append(v, e.Name())
	}
	return strings.Join(v, " ")
}

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func apply(t *testing.T, d *Dir, name, text string, want bool) {
	t.Helper()
	c := fleet.Change{Name: name}
	if text != "" {
		c.File = []byte(text)
	}
	if changed, err := d.Apply(c); err != nil || changed != want {
		t.Errorf("%s: changed %v, %v", name, changed, err)
	}
}

// Whatever the name of a member is, files other than the agent's are not read, written or removed.
func TestOnlyItsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"hand.toml", "fleet.toml", "fleet-.toml", "fleet-UP.toml", ".fleet-agent.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	if len(d.Files()) != 0 {
		t.Errorf("files %q", d.Files())
	}
	apply(t, d, "a", "one", true)
	apply(t, d, "a", "one", false)
	apply(t, d, "a", "two", true)
	apply(t, d, "b", "", false)
	if got := names(t, dir); got != "fleet-.toml fleet-UP.toml fleet-a.toml fleet.toml hand.toml" {
		t.Errorf("files %s", got)
	}
	info, err := os.Stat(filepath.Join(dir, "fleet-a.toml"))
	if err != nil || info.Mode() != 0o644 || !config.IsDropIn(info.Name()) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{"", "../a", "a/b", "UP"} {
		if _, err := d.Apply(fleet.Change{Name: name, File: []byte("x")}); err == nil {
			t.Errorf("%q is written", name)
		}
	}
	again := open(t, dir)
	if string(again.Files()["a"]) != "two" || len(again.Files()) != 1 {
		t.Errorf("files %q", again.Files())
	}
	apply(t, again, "a", "", true)
	apply(t, again, "a", "", false)
}

// A link in place of a file is replaced, not followed.
func TestLinksLeadNowhere(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"fleet-a.toml", ".fleet-agent.tmp"} {
		if err := os.Symlink(target, filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, dir)
	if got := d.Files()["a"]; got != nil {
		t.Errorf("read %q", got)
	}
	apply(t, d, "a", "one", true)
	if got, err := os.ReadFile(target); err != nil || string(got) != "keep" {
		t.Errorf("target %q, %v", got, err)
	}
}

// A daemon of another user can read the files, whatever the umask of the agent's service is.
func TestDaemonOfAnotherUserReads(t *testing.T) {
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o077))
	apply(t, open(t, dir), "a", "one", true)
	if info, err := os.Stat(filepath.Join(dir, "fleet-a.toml")); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestWhoseDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(dir); err == nil || !strings.Contains(err.Error(), "writable by group or others") {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := Open(filepath.Join(dir, "none")); err == nil {
		t.Error("opened what is not there")
	}
}
