package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestPath(t *testing.T) {
	t.Setenv(Env, "/somewhere")
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a b", "a\n", "a:1", "x\x7f", strings.Repeat("x", MaxName+1)} {
		if p, err := Path(bad, Socket); err == nil {
			t.Errorf("Path(%q) = %q, want an error", bad, p)
		}
	}
	got, err := Path(strings.Repeat("x", MaxName), Socket)
	if want := "/somewhere/" + strings.Repeat("x", MaxName) + ".sock"; err != nil || got != want {
		t.Errorf("Path = %q, %v; want %q", got, err, want)
	}
}

func TestDefault(t *testing.T) {
	t.Setenv(Env, "")
	if Dir() != Default {
		t.Errorf("Dir() = %q without the variable, want %q", Dir(), Default)
	}
}

func TestNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	t.Setenv(Env, dir)
	if names, err := Names(); err != nil || names != nil {
		t.Errorf("Names() of a missing directory = %v, %v; want none", names, err)
	}
	if err := Make(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"b.sock", "a.sock", "c.state", "d.log", "bad name.sock", ".sock"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := Names()
	if want := []string{"a", "b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("Names() = %v, %v; want %v", names, err, want)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chown(dir, 1234, 1235); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.lock")
	for range 2 { // new, then there already
		f, err := Create(path, 0, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if s := st.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 1235 || st.Mode().Perm() != 0o600 {
			t.Errorf("owner %d:%d, mode %v; want those of the directory and 0600", s.Uid, s.Gid, st.Mode())
		}
		f.Close()
	}
	// Neither a symbolic nor a hard link leads out of the directory.
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(string, string) error{"soft": os.Symlink, "hard": os.Link} {
		p := filepath.Join(dir, name)
		if err := link(victim, p); err != nil {
			t.Fatal(err)
		}
		if f, err := Create(p, 0, 0o600); err == nil {
			f.Close()
			t.Errorf("Create followed a %s link", name)
		}
	}
	if st, err := os.Stat(victim); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the link's target changed hands: %v", err)
	}
}
