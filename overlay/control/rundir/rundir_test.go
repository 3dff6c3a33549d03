package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	must(t, Make())
	for _, f := range []string{"b.sock", "a.sock", "c.state", "d.log", "bad name.sock", ".sock"} {
		must(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
	names, err := Names()
	if want := []string{"a", "b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("Names() = %v, %v; want %v", names, err, want)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chown(dir, 1234, 1235))
	path := filepath.Join(dir, "a.lock")
	for range 2 { // first new, then present
		f, err := Create(path, 0, 0o600)
		must(t, err)
		st, err := f.Stat()
		must(t, err)
		if s := st.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 1235 || st.Mode().Perm() != 0o600 {
			t.Errorf("owner %d:%d, mode %v; want those of the directory and 0600", s.Uid, s.Gid, st.Mode())
		}
		f.Close()
	}
	// Create follows neither a symbolic nor a hard link to a file outside the directory.
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("x"), 0o600))
	for name, link := range map[string]func(string, string) error{"soft": os.Symlink, "hard": os.Link} {
		p := filepath.Join(dir, name)
		must(t, link(victim, p))
		if f, err := Create(p, 0, 0o600); err == nil {
			f.Close()
			t.Errorf("Create followed a %s link", name)
		}
	}
	// A file of a user other than the directory's owner is refused, too. It may be a hard link to a
	// foreign file whose other name was removed for a moment.
	must(t, os.WriteFile(filepath.Join(dir, "foreign"), nil, 0o600))
	if f, err := Create(filepath.Join(dir, "foreign"), 0, 0o600); err == nil {
		f.Close()
		t.Error("Create took a file of another user")
	}
	if st, err := os.Stat(victim); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the link's target changed hands: %v", err)
	}
}

// If a pipe has the name of a file, neither a reader nor a writer blocks on it.
func TestOnlyFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	plants := map[string]func(string) error{
		"pipe":   func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"socket": func(p string) error { return syscall.Mknod(p, syscall.S_IFSOCK|0o666, 0) },
		"folder": func(p string) error { return os.Mkdir(p, 0o777) },
		"soft":   func(p string) error { return os.Symlink(filepath.Join(dir, "victim"), p) },
		"hard":   func(p string) error { return os.Link(filepath.Join(dir, "victim"), p) },
	}
	must(t, os.WriteFile(filepath.Join(dir, "victim"), []byte("x"), 0o600))
	for name, plant := range plants {
		path := filepath.Join(dir, name)
		must(t, plant(path))
		if b, err := Read(path, 10); err == nil {
			t.Errorf("%s: read %q", name, b)
		}
		if f, err := Create(path, 0, 0o600); err == nil {
			f.Close()
			t.Errorf("%s: opened to be written", name)
		}
	}
	if b, err := Read(filepath.Join(dir, "victim"), 10); err == nil {
		t.Errorf("a file with two links was read: %q", b)
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	must(t, Replace(path, []byte("0123456789"), 0o600))
	if b, err := Read(path, 10); err != nil || string(b) != "0123456789" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := Read(path, 9); err == nil {
		t.Errorf("%q is longer than 9 bytes", b)
	}
}

// A symbolic link in place of the directory itself is refused, too.
func TestDirectoryIsNoLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("real", link))
	if f, err := Create(filepath.Join(link, "a.lock"), 0, 0o600); err == nil {
		f.Close()
		t.Error("a file was made behind a link")
	}
	if l, err := Listen(filepath.Join(link, "a.sock"), 0o660); err == nil {
		l.Close()
		t.Error("a socket was made behind a link")
	}
}

// onDisk runs f with a full file system of 4 KB, in a mount namespace and on a thread of
// its own.
func onDisk(t *testing.T, f func(dir string)) {
	t.Helper()
	done := make(chan struct{})
	dir := t.TempDir()
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		for _, err := range []error{
			unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"),
			os.WriteFile(filepath.Join(dir, "full"), make([]byte, 4096), 0o600),
		} {
			if err != nil {
				t.Error(err)
				return
			}
		}
		f(dir)
	}()
	<-done
}

// A full disk leaves the old content, and no unfinished file.
func TestReplaceOnAFullDisk(t *testing.T) {
	onDisk(t, func(dir string) {
		path := filepath.Join(dir, "a.state")
		if err := Replace(path, nil, 0o600); err != nil {
			t.Error(err)
		}
		if err := Replace(path, []byte("more"), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("Replace = %v, want a full disk", err)
		}
		if b, err := Read(path, 10); err != nil || len(b) > 0 {
			t.Errorf("content %q, %v; want none, as before", b, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("left: %v, %v", entries, err)
		}
	})
}

// If a symbolic link has the name of a socket, a client does not follow it to another socket.
func TestDialFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(filepath.Join(dir, "a.sock"), 0o660)
	must(t, err)
	c, err := Dial(filepath.Join(dir, "a.sock"), time.Second)
	must(t, err)
	c.Close()
	link := filepath.Join(dir, "b.sock")
	must(t, os.Symlink("a.sock", link))
	if c, err := Dial(link, time.Second); err == nil {
		c.Close()
		t.Error("connected through a link")
	}
	if err := errors.Join(l.Close(), l.Remove()); err != nil {
		t.Error(err)
	}
	if _, err := Dial(filepath.Join(dir, "a.sock"), time.Second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want no such file", err)
	}
}

// Although the umask of a service is 0077, the socket's mode admits its group.
func TestListenSetsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		old := unix.Umask(mask)
		l, err := Listen(path, 0o660)
		if got := unix.Umask(old); got != mask {
			t.Errorf("umask %o became %o", mask, got)
		}
		must(t, err)
		st, err := os.Lstat(path)
		if err != nil || st.Mode() != fs.ModeSocket|0o660 {
			t.Errorf("umask %o: %v, %v", mask, st.Mode(), err)
		}
		if err := errors.Join(l.Close(), l.Remove()); err != nil {
			t.Error(err)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
