package daemon

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The socket that tells of a copied machine goes to the next process with the sessions: what
// happens between the two waits in it.

// rest ends watch, and returns a duplicate of the descriptor: what comes from now on waits
// there. Who was told before has dealt with it.
func (m *cloneNotifier) rest() (fd int, err error) {
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
	errCopied = errors.New("this machine is a copy, or was restored from one, since then")
	errDeaf   = errors.New("what came along does not tell when this machine is a copy")
)

// adoptMachine takes over what another process's rest returned. It owns the descriptor. An
// error says why nothing that is older than this moment may be believed to be ours alone.
func adoptCloneNotifier(fd int) (*cloneNotifier, error) {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	sa, e := unix.Getsockname(fd)
	if a, ok := sa.(*unix.SockaddrNetlink); err != nil || e != nil || !ok || protocol != unix.NETLINK_KOBJECT_UEVENT || a.Groups&kernelEvents == 0 {
		unix.Close(fd)
		return nil, errDeaf
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
			return cloneNotifierOf(fd), nil
		case err == unix.EINTR:
		case err != nil: // some were lost (ENOBUFS)
			unix.Close(fd)
			return nil, errDeaf
		case isKernel(from) && isNewMachine(buf[:n]):
			unix.Close(fd)
			return nil, errCopied
		}
	}
}
