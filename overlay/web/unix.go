package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

const (
	// unixMode is the mode of the socket. It gives access to the daemon's user and the socket's
	// group. In a directory with the set-group-ID bit, the socket gets the directory's group.
	unixMode = 0o660
	// othersWrite are the mode bits of a directory that let other users replace the socket.
	othersWrite = 0o002
	// knockWait bounds the check for a live socket, which accepts a connection much sooner.
	knockWait = time.Second
)

// unixListener is a unix socket that removes its name when it is closed.
type unixListener struct{ *rundir.Listener }

// ListenUnix creates a unix socket at path, which the given groups may also use. ListenUnix
// replaces a socket without a listening process. If the file at path is not a socket, or the
// directory is a symbolic link, ListenUnix leaves it and returns an error. If ListenUnix returns
// rundir.ErrGroups, the socket works for all other users.
func ListenUnix(path string, groups ...uint32) (net.Listener, error) {
	if err := CheckUnix(path); err != nil {
		return nil, err
	}
	l, err := rundir.Listen(path, unixMode, groups...)
	if err != nil && !errors.Is(err, rundir.ErrGroups) {
		return nil, err
	}
	return unixListener{l}, err
}

// Close implements net.Listener. Close removes the socket's name unless another socket has it
// now.
func (l unixListener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err // it was already closed
	}
	return errors.Join(err, l.Remove())
}

// ErrTaken means that a unix socket is in use.
var ErrTaken = errors.New("another process listens")

// CheckUnix returns the error with which ListenUnix would refuse a path now. CheckUnix creates
// nothing.
func CheckUnix(path string) error {
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	// The second name belongs to a socket whose creation an earlier process did not complete.
	for _, p := range []string{path, path + rundir.Temporary} {
		if err := checkStale(p); err != nil {
			return err
		}
	}
	return nil
}

func checkDirectory(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "listen in", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is no directory", dir)
	case st.Mode&othersWrite != 0:
		return fmt.Errorf("%s is writable by everybody", dir)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0:
		return fmt.Errorf("%s belongs to another user", dir)
	}
	return nil
}

// checkStale returns an error if another process listens at a path.
func checkStale(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &os.PathError{Op: "listen", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return fmt.Errorf("%s exists, and is not a socket", path)
	}
	c, err := rundir.Dial(path, knockWait)
	switch {
	case err == nil:
		c.Close()
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EAGAIN): // EAGAIN means a live socket with a full queue
		return err
	}
	return fmt.Errorf("%w on %s", ErrTaken, path)
}
