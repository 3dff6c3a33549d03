package main

import (
	"errors"
	"os"
	"sync"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// maxLog bounds the log of a background process in bytes, because the log is in memory (/run).
// Together with the rotated file, the log takes up to twice as much memory.
const maxLog = 1 << 20

func openLog(path string) (*os.File, error) {
	return rundir.Create(path, os.O_APPEND, 0o640)
}

// growth is the space in bytes that a log needs to be of use.
const growth = 4 << 10

// canGrow returns an error if the file system has no space for more of a log. It reserves the
// space. If the file system cannot reserve space, canGrow returns nil.
func canGrow(log *os.File) error {
	st, err := log.Stat()
	if err == nil {
		err = unix.Fallocate(int(log.Fd()), unix.FALLOC_FL_KEEP_SIZE, st.Size(), growth)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return nil
}

// rotatingLog is a log file with a maximum size. When the log file is full, it is renamed, and
// replaces the file that was renamed before. Standard output and error also point at the current
// log file, because the Go runtime writes crashes there.
type rotatingLog struct {
	mu   sync.Mutex
	path string
	max  int64
	file *os.File
	size int64
}

func openRotating(path string, limit int64) (*rotatingLog, error) {
	l := &rotatingLog{path: path, max: limit}
	return l, l.open()
}

func (l *rotatingLog) open() error {
	f, err := openLog(l.path)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.size = f, st.Size()
	return nil
}

// follow redirects standard output and error to the log file.
func (l *rotatingLog) follow() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dup()
}

func (l *rotatingLog) dup() error {
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup3(int(l.file.Fd()), fd, 0); err != nil {
			return os.NewSyscallError("dup3", err)
		}
	}
	return nil
}

// Write appends one whole message to the log.
func (l *rotatingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.max {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *rotatingLog) rotate() error {
	followed := sameOpenFile(l.file, os.Stderr)
	if err := os.Rename(l.path, l.path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	if followed {
		return l.dup()
	}
	return nil
}

func sameOpenFile(a, b *os.File) bool {
	sa, errA := a.Stat()
	sb, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}
