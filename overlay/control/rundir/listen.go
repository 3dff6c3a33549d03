package rundir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is a unix socket with a name in the file system.
type Listener struct {
	*net.UnixListener
	path  string
	inode int // the socket's file, opened with O_PATH
}

// Listen creates a unix socket at path, and replaces an old one. The socket has its final mode from
// the moment when it exists. Members of the given groups get the same access as the owner. If the
// groups cannot be admitted, Listen returns a working socket together with ErrGroups.
func Listen(path string, mode uint32, groups ...uint32) (*Listener, error) {
	d, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	temp := path + Temporary
	if err := tooLong(path); err != nil {
		return nil, err
	}
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := bind(temp, mode)
	if err != nil {
		return nil, named(path, err)
	}
	s := &Listener{UnixListener: l, path: path}
	if s.inode, err = d.socket(temp); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(temp))
	}
	closed := s.admit(groups)
	err = unix.Renameat(d.fd, filepath.Base(temp), d.fd, filepath.Base(path))
	if err == nil && !d.has(path, s.inode) {
		err = errors.New("another process changes the directory")
	}
	if err != nil {
		unix.Close(s.inode)
		return nil, errors.Join(&os.PathError{Op: "listen", Path: path, Err: err}, l.Close(), removeIfThere(temp))
	}
	return s, closed
}

// tooLong returns an error if a path is too long for a socket.
func tooLong(path string) error {
	if over := len(path+Temporary) - maxSocketPath; over > 0 {
		return fmt.Errorf("%s: %d bytes too long for the address of a socket; give a shorter directory in %s", path, over, Env)
	}
	return nil
}

// umask serializes changes of the process's umask.
var umask sync.Mutex

// bind creates the socket. The system call bind(2) follows no link at the end of a path. The
// kernel gives the new name the mode of the socket's own inode, without the bits of the umask,
// so bind() sets both before the call.
func bind(path string, mode uint32) (*net.UnixListener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer unix.Umask(unix.Umask(int(^mode & 0o777)))
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), mode) }); e != nil {
			return e
		}
		return err
	}}
	l, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	u := l.(*net.UnixListener)
	u.SetUnlinkOnClose(false)
	return u, nil
}

// socket opens the inode of the socket that this process has just created.
func (d directory) socket(path string) (fd int, err error) {
	fd, err = unix.Openat(d.fd, filepath.Base(path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != os.Geteuid() || st.Nlink != 1) {
		err = errors.New("not the socket that was made")
	}
	if err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

func (d directory) has(path string, inode int) bool {
	var a, b unix.Stat_t
	return unix.Fstatat(d.fd, filepath.Base(path), &a, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		unix.Fstat(inode, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// Remove removes the socket's name and closes its inode. If the name now belongs to another socket,
// Remove leaves the name. The caller must close the listener before Remove, and must not call
// Groups afterwards.
func (s *Listener) Remove() (err error) {
	d, err := openDirectory(s.path)
	if err == nil {
		if d.has(s.path, s.inode) {
			err = removeIfThere(s.path)
		}
		d.close()
	}
	return errors.Join(err, unix.Close(s.inode))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Dial connects to the socket at path. Dial does not follow a link at path.
func Dial(path string, timeout time.Duration) (net.Conn, error) {
	d, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	fd, err := unix.Openat(d.fd, filepath.Base(path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, &os.PathError{Op: "connect", Path: path, Err: errors.Join(err, errors.New("not a socket"))}
	}
	c, err := dialPatiently(fmt.Sprintf("/proc/self/fd/%d", fd), timeout)
	if errors.Is(err, os.ErrNotExist) {
		return dialPatiently(path, timeout) // /proc is not mounted
	}
	return c, err
}

// dialPause is the time between attempts to connect to a socket whose queue is full. If the
// queue is full, a non-blocking connect(2) returns EAGAIN (unix(7)).
const dialPause = 2 * time.Millisecond

func dialPatiently(path string, timeout time.Duration) (net.Conn, error) {
	for end := time.Now().Add(timeout); ; time.Sleep(dialPause) {
		c, err := net.DialTimeout("unix", path, timeout)
		if !errors.Is(err, unix.EAGAIN) || time.Now().After(end) {
			return c, err
		}
	}
}
