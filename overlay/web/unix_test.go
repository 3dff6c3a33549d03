package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// client returns an HTTP client that connects to a unix socket.
func client(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", path)
	}}}
}

// With any umask, the socket's user and group have access. The socket is removed when the server
// ends.
func TestUnixSocketLetsItsGroupIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lab.metrics")
	defer unix.Umask(unix.Umask(0o777))
	l, err := ListenUnix(path)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var owner Owner
	go func() {
		done <- Serve(ctx, l, Literal(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			owner = OwnerOf(r.Context())
			fmt.Fprint(w, "hello")
		})), nil)
	}()
	if st, err := os.Lstat(path); err != nil || st.Mode() != fs.ModeSocket|0o660 {
		t.Errorf("%v, %v", st, err)
	}
	// A proxy may request any host name, because no browser reaches a unix socket.
	r, err := client(path).Get("http://hub.example/metrics")
	if err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", r, err)
	}
	r.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if owner != UserOwner(uint32(os.Geteuid())) {
		t.Errorf("asked by %v", owner)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}

// ListenUnix replaces the socket of a killed process, but no other file.
func TestUnixSocketReplacesStaleSocketsAlone(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "a"), filepath.Join(dir, "victim")
	must(t, os.WriteFile(victim, []byte("x"), 0o600))
	stale := func(p string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return errors.Join(err, unix.Bind(fd, &unix.SockaddrUnix{Name: p}), unix.Close(fd))
	}
	for name, c := range map[string]struct {
		plant func(string) error
		want  string
	}{
		"stale":   {stale, ""},
		"file":    {func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, "not a socket"},
		"link":    {func(p string) error { return os.Symlink(victim, p) }, "not a socket"},
		"nothing": {func(p string) error { return os.Symlink(filepath.Join(dir, "none"), p) }, "not a socket"},
		"pipe":    {func(p string) error { return unix.Mkfifo(p, 0o600) }, "not a socket"},
		"folder":  {func(p string) error { return os.Mkdir(p, 0o700) }, "not a socket"},
	} {
		for _, at := range []string{path, path + ".new"} {
			must(t, c.plant(at))
			before, _ := os.Lstat(at)
			l, err := ListenUnix(path)
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s at %s: %v", name, at, err)
			case c.want != "":
				if after, err := os.Lstat(at); err != nil || !os.SameFile(before, after) {
					t.Errorf("%s at %s was changed: %v", name, at, err)
				}
			}
			if l != nil {
				l.Close()
			}
			os.Remove(at)
		}
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// A socket with a listening process keeps its name. A listener does not remove the name of a later
// one.
func TestUnixSocketOfAnotherStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	first, err := ListenUnix(path)
	must(t, err)
	if l, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("%v, %v", l, err)
	}
	must(t, os.Remove(path))
	second, err := ListenUnix(path)
	must(t, err)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// If other users may write to the directory, a client cannot rely on the owner of a socket, so
// ListenUnix refuses the directory.
func TestUnixSocketWantsADirectoryOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		make func(string) error
		want string
	}{
		"shared":  {func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o1777)) }, "writable by everybody"},
		"link":    {func(p string) error { return os.Symlink(dir, p) }, "no directory"},
		"missing": {func(string) error { return nil }, "no such file"},
	} {
		p := filepath.Join(dir, name)
		must(t, c.make(p))
		if l, err := ListenUnix(filepath.Join(p, "a")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
}
