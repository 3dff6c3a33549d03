// Package uevent lets tests make the kernel report a device in a network namespace
// (lib/kobject_uevent.c, since Linux 4.18). The calling test needs root.
package uevent

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Send makes the kernel send a uevent with these variables to all listeners in the network
// namespace of the calling thread.
func Send(variables ...string) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	text := strings.Join(variables, "\x00") + "\x00"
	b := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(text))
	binary.NativeEndian.PutUint32(b, uint32(unix.SizeofNlMsghdr+len(text)))
	binary.NativeEndian.PutUint16(b[4:], unix.NLMSG_MIN_TYPE)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	return unix.Sendto(fd, append(b, text...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// VMGenID contains the variables of the kernel's event on a copied virtual machine.
var VMGenID = []string{
	"change@/devices/LNXSYSTM:00/QEMUVGID:00", "ACTION=change", "DEVPATH=/devices/LNXSYSTM:00/QEMUVGID:00",
	"SUBSYSTEM=acpi", "NEW_VMGENID=1",
}
