package netconf

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// watchBuffer is the size of the netlink socket's receive buffer in bytes, enough for some
// thousand messages. A tool that flushes a table causes one message for each route.
const watchBuffer = 1 << 20

// groups are the multicast groups with messages about the settings that Restore restores
// (rtnetlink(7)).
var (
	groups = append([]uint{
		unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
	}, wayGroups...)
	// wayGroups are the groups with messages about policy rules and interfaces only. If an
	// interface loses its carrier, the kernel announces no change of a route.
	wayGroups = []uint{unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE}
)

// Watcher receives the kernel's messages about the interface's settings and about policy rules.
type Watcher struct {
	file  *os.File
	index uint32 // index of the interface
	all   bool   // every message is relevant
}

// Watch subscribes to the kernel's messages about the interface of s.
func (s *State) Watch() (*Watcher, error) { return watch(groups, Watcher{index: uint32(s.index)}) }

// WatchWays subscribes to the kernel's messages about all policy rules and interfaces.
func WatchWays() (*Watcher, error) { return watch(wayGroups, Watcher{all: true}) }

func watch(groups []uint, w Watcher) (*Watcher, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	// An error is ignored, because a smaller receive buffer only overflows sooner, and an overflow
	// counts as a change.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, watchBuffer)
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	for _, g := range groups {
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, int(g))
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("rtnetlink", err)
	}
	w.file = os.NewFile(uintptr(fd), "rtnetlink")
	return &w, nil
}

// Close closes the netlink socket, which ends Wait.
func (w *Watcher) Close() error { return w.file.Close() }

// Wait returns true when a relevant message arrives, or when the time `until` is reached. If
// ctx has ended, Wait returns false.
func (w *Watcher) Wait(ctx context.Context, until time.Time) bool {
	if w.file.SetReadDeadline(until) != nil {
		return false
	}
	// This read deadline must be set after the deadline above, which would otherwise replace it.
	// Setting the deadline fails only if the file is closed already.
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := w.file.SyscallConn()
	if err != nil {
		return false
	}
	buf := make([]byte, nl.RECEIVE_BUFFER_SIZE)
	for ctx.Err() == nil {
		news, over := false, false
		err := raw.Read(func(fd uintptr) bool {
			n, from, err := unix.Recvfrom(int(fd), buf, 0)
			switch {
			case errors.Is(err, unix.EAGAIN):
				return false
			case errors.Is(err, unix.EINTR):
			case err != nil:
				news = true // ENOBUFS: messages were lost
			case fromKernel(from):
				news = w.all || w.matters(buf[:n])
			}
			over = ctx.Err() != nil
			return true
		})
		if news && !over || errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}

// fromKernel reports whether the kernel sent a message. If a program sent it, the sender's address
// has the number of the program's socket.
func fromKernel(from unix.Sockaddr) bool {
	a, ok := from.(*unix.SockaddrNetlink)
	return ok && a.Pid == 0
}

// matters reports whether the messages in b announce a change of the watched interface or of a
// rule.
func (w *Watcher) matters(b []byte) bool {
	list, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return true
	}
	for i := range list {
		if w.concerns(&list[i]) {
			return true
		}
	}
	return false
}

func (w *Watcher) concerns(m *syscall.NetlinkMessage) bool {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK, unix.RTM_DELADDR:
		// Both struct ifinfomsg and struct ifaddrmsg have the interface's index at offset 4.
		return len(m.Data) >= 8 && binary.NativeEndian.Uint32(m.Data[4:]) == w.index
	case unix.RTM_DELRULE:
		return true
	case unix.RTM_DELROUTE:
		return w.through(m)
	}
	return false
}

// through reports whether a route leads through the watched interface. This loop parses the
// attributes itself, because syscall.ParseNetlinkRouteAttr reads beyond truncated messages.
func (w *Watcher) through(m *syscall.NetlinkMessage) bool {
	if len(m.Data) < unix.SizeofRtMsg {
		return false
	}
	for b := m.Data[unix.SizeofRtMsg:]; len(b) >= unix.SizeofRtAttr; {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return false
		}
		kind, value := binary.NativeEndian.Uint16(b[2:]), b[unix.SizeofRtAttr:n]
		if kind == unix.RTA_OIF && len(value) >= 4 {
			return binary.NativeEndian.Uint32(value) == w.index
		}
		padded := (n + unix.RTA_ALIGNTO - 1) &^ (unix.RTA_ALIGNTO - 1)
		b = b[min(padded, len(b)):]
	}
	return false
}
