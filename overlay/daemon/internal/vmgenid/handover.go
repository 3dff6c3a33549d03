package vmgenid

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The socket that tells of a copied machine goes to the next process with the sessions: what
// happens between the two waits in it.

// Rest ends Watch, and returns a duplicate of the descriptor: what comes from now on waits
// there. Who was told before has dealt with it.
func (m *Notifier) Rest() (fd int, err error) {
	if m == nil {
		return -1, errors.New("nothing tells when this machine is a copy")
	}
	if err := m.events.SetReadDeadline(time.Unix(1, 0)); err != nil {
		return -1, err
	}
	<-m.done
	raw, err := m.events.SyscallConn()
	if err != nil {
		return -1, err
	}
	failed := raw.Control(func(d uintptr) {
		fd, err = unix.FcntlInt(d, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(failed, err)
}

var (
	ErrCopied = errors.New("this machine is a copy, or was restored from one, since then")
	ErrDeaf   = errors.New("what came along does not tell when this machine is a copy")
)

// Adopt takes over what another process's Rest returned. It owns the descriptor. An
// error says why nothing that is older than this moment may be believed to be ours alone.
func Adopt(fd int) (*Notifier, error) {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	sa, e := unix.Getsockname(fd)
	if a, ok := sa.(*unix.SockaddrNetlink); err != nil || e != nil || !ok || protocol != unix.NETLINK_KOBJECT_UEVENT || a.Groups&kernelEvents == 0 {
		unix.Close(fd)
		return nil, ErrDeaf
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	buf := make([]byte, eventMost)
	for {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case err == unix.EAGAIN:
			return notifierOf(fd), nil
		case err == unix.EINTR:
		case err != nil: // some were lost (ENOBUFS)
			unix.Close(fd)
			return nil, ErrDeaf
		case isKernel(from) && isNewMachine(buf[:n]):
			unix.Close(fd)
			return nil, ErrCopied
		}
	}
}
