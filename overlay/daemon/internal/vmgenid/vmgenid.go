// Package vmgenid detects that this virtual machine has become a copy of another one.
package vmgenid

import (
	"bytes"
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// A virtual machine may be restored from a snapshot, or cloned. Both copies of the machine would
// then encrypt packets with the same keys and nonces. The hypervisor gives each copy its own
// generation number. The kernel announces a new number after reseeding its random number
// generator (VMGENID, since Linux 6.8).
const (
	kernelEvents = 1 // multicast group of the kernel's own events
	newMachine   = "NEW_VMGENID=1"
	eventMost    = 8 << 10 // buffer size in bytes; the kernel's own events have at most 2 KB
)

// Notifier receives the kernel's events about a new generation number.
type Notifier struct {
	events *os.File
}

// Open subscribes to the kernel's device events.
func Open() (*Notifier, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelEvents}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &Notifier{os.NewFile(uintptr(fd), "kobject-uevent")}, nil
}

// Watch calls f for each new generation number until ctx ends, and closes the descriptor.
func (m *Notifier) Watch(ctx context.Context, f func()) {
	if m == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { m.events.Close() })
	defer stop()
	raw, err := m.events.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, eventMost)
	for ctx.Err() == nil {
		var n int
		var from unix.Sockaddr
		var failed error
		if raw.Read(func(fd uintptr) bool {
			n, from, failed = unix.Recvfrom(int(fd), buf, 0)
			return failed != unix.EAGAIN
		}) != nil {
			return // closed
		}
		// If thousands of devices appear and disappear, an event may be lost (ENOBUFS), and reading
		// continues.
		if failed == nil && isKernel(from) && isNewMachine(buf[:n]) {
			f()
		}
	}
}

// isKernel reports whether the kernel sent an event. If a program sent it, the sender's address has
// the number of a socket.
func isKernel(from unix.Sockaddr) bool {
	a, ok := from.(*unix.SockaddrNetlink)
	return ok && a.Pid == 0
}

// isNewMachine reports whether newMachine is among the variables of an event. Each variable ends
// in a zero byte.
func isNewMachine(event []byte) bool {
	for v := range bytes.SplitSeq(event, []byte{0}) {
		if string(v) == newMachine {
			return true
		}
	}
	return false
}

// Close ends Watch and closes the descriptor.
func (m *Notifier) Close() {
	if m != nil {
		m.events.Close()
	}
}
