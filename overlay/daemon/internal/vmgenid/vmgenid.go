// Package vmgenid tells when this machine has become a copy of another one.
package vmgenid

import (
	"bytes"
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// A virtual machine that is restored from a snapshot, or cloned, would seal packets with
// nonces that the other copy uses as well, under the same keys. The hypervisor gives
// each a generation number of its own, and the kernel tells of a new one (VMGENID, since
// Linux 6.8) when it has reseeded its random numbers.
const (
	kernelEvents = 1 // the multicast group of what the kernel itself tells
	newMachine   = "NEW_VMGENID=1"
	eventMost    = 8 << 10 // bytes; the kernel's own events have 2 KB at most
)

// Notifier tells when this has become another one.
type Notifier struct {
	events *os.File
}

// Open opens the kernel's news of devices.
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

// Watch calls f for each new generation until ctx ends, and closes the descriptor.
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
		// An event may be lost where devices come and go by the thousand (ENOBUFS).
		if failed == nil && isKernel(from) && isNewMachine(buf[:n]) {
			f()
		}
	}
}

// isKernel: what programs send has the number of their socket.
func isKernel(from unix.Sockaddr) bool {
	a, ok := from.(*unix.SockaddrNetlink)
	return ok && a.Pid == 0
}

// isNewMachine looks for the variable among those of an event, which end in zero bytes.
func isNewMachine(event []byte) bool {
	for v := range bytes.SplitSeq(event, []byte{0}) {
		if string(v) == newMachine {
			return true
		}
	}
	return false
}

// Close ends Watch, if it has not ended.
func (m *Notifier) Close() {
	if m != nil {
		m.events.Close()
	}
}
