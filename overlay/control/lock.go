package control

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// ErrAlreadyRunning means that another running process uses the interface's name.
var ErrAlreadyRunning = errors.New("already running")

// lockTries bounds the attempts at a lock file that other processes keep replacing. A retry is
// needed only if a daemon exited between open and flock.
const lockTries = 100

// A killed process still holds its lock for a few milliseconds. So if a lock is held, takeLock
// tries again every lockPause, for lockWait in all.
const (
	lockWait  = 500 * time.Millisecond
	lockPause = 20 * time.Millisecond
)

// lock is the held lock file of an interface. The kernel releases a lock with its process, so a
// lock cannot be stale as a file can.
type lock struct{ file *os.File }

// takeLock locks an interface name, or fails with ErrAlreadyRunning.
func takeLock(name string) (*lock, error) {
	path, err := rundir.Path(name, rundir.Lock)
	if err != nil {
		return nil, err
	}
	patient := time.Now().Add(lockWait)
	for range lockTries {
		f, err := rundir.Create(path, 0, 0o600)
		if err != nil {
			return nil, rundir.Explain(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(patient) {
				time.Sleep(lockPause)
				continue
			}
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("%s is %w", name, ErrAlreadyRunning)
			}
			return nil, &os.PathError{Op: "flock", Path: path, Err: err}
		}
		if sameFile(f, path) {
			return &lock{file: f}, nil
		}
		// The previous holder of the lock removed the file after this process had opened it. A lock
		// on a removed file excludes no other process.
		f.Close()
	}
	return nil, fmt.Errorf("%s: the lock file keeps changing", path)
}

// served reports whether a process listens at a socket. Somebody may have removed the lock file of a
// running daemon, and a new lock file then excludes nobody. A killed process still has its socket
// for a few milliseconds after its lock.
func served(socket string) bool {
	for patient := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		c, err := rundir.Dial(socket, lockWait)
		switch {
		case err == nil:
			c.Close()
		case !errors.Is(err, unix.EAGAIN): // EAGAIN means a live socket with a full queue
			return false
		}
		if time.Now().After(patient) {
			return true
		}
	}
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// release removes the lock file while it is still locked, then unlocks it. If somebody removed the
// file, the name may belong to the lock of another process, and stays.
func (l *lock) release() (err error) {
	if sameFile(l.file, l.file.Name()) {
		err = os.Remove(l.file.Name())
	}
	return errors.Join(err, l.file.Close())
}
