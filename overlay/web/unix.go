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
	// unixMode lets the daemon's user and the socket's group in. Where the directory has the
	// set-group-ID bit, that is the directory's group.
	unixMode = 0o660
	// othersWrite is the permission of others to put something else in the socket's place.
	othersWrite = 0o002
	// knockWait is more than a socket on which somebody listens takes to answer.
	knockWait = time.Second
)

// unixListener is a unix socket whose name goes with it.
type unixListener struct{ *rundir.Listener }

// ListenUnix makes a unix socket at path, in place of one on which nobody listens any more, to
// which these groups are let in as well. What is there and is no such socket stays, and nothing
// is made behind a link. With rundir.ErrGroups there is a socket all the same.
func ListenUnix(path string, groups ...uint32) (net.Listener, error) {
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// The second is the name of one that was never finished.
	for _, p := range []string{path, path + rundir.Temporary} {
		if err := checkStale(p); err != nil {
			return nil, err
		}
	}
	l, err := rundir.Listen(path, unixMode, groups...)
	if err != nil && !errors.Is(err, rundir.ErrGroups) {
		return nil, err
	}
	return unixListener{l}, err
}

// Close implements net.Listener, and removes the name unless somebody else has it now.
func (l unixListener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err // closed before
	}
	return errors.Join(err, l.RemoveOwn())
}

// checkDirectory refuses a directory in which others could put what they like.
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

// checkStale refuses a name that somebody uses.
func checkStale(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &os.PathError{Op: "listen", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return fmt.Errorf("%s is there already, and is no socket", path)
	}
	c, err := rundir.Dial(path, knockWait)
	switch {
	case err == nil:
		c.Close()
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EAGAIN): // whose queue is full, listens
		return err
	}
	return fmt.Errorf("somebody listens on %s already", path)
}
