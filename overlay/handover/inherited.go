package handover

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/keytext"
)

// Environment variables list the descriptors that this process has inherited. The user who starts
// the process may write anything into these variables. So they may list a descriptor that Go's
// runtime has opened. A process that closes the descriptor of its own poller crashes.

// inherited returns the descriptors passed to this process, by name, or nil if there are none. It
// removes the variables that list the descriptors from the environment. It closes unusable
// descriptors, and returns the reason as an error.
func inherited() (fds map[string][]int, err error) {
	pid, _ := strconv.Atoi(os.Getenv(pidEnv))
	asked, names := os.Getenv(countEnv), strings.Split(os.Getenv(namesEnv), ":")
	for _, v := range []string{pidEnv, countEnv, namesEnv} {
		os.Unsetenv(v)
	}
	if pid != os.Getpid() {
		return nil, nil // they were for another process (sd_listen_fds(3))
	}
	count, bad := strconv.Atoi(asked)
	if bad != nil || count < 0 || count > maxFDs {
		return nil, fmt.Errorf("%s=%s is not a number from 0 to %d", countEnv, keytext.Quote(asked), maxFDs)
	}
	for i := range count {
		name := "" // a descriptor without a name is closed
		if i < len(names) {
			name = names[i]
		}
		fd := firstFD + i
		if why := foreign(fd); why != nil {
			closeAll(fds)
			return nil, fmt.Errorf("%s=%d: descriptor %d %w", countEnv, count, fd, why)
		}
		unix.CloseOnExec(fd)
		if fds == nil {
			fds = map[string][]int{}
		}
		fds[name] = append(fds[name], fd)
		if why := unfit(name, fd); why != "" && err == nil {
			err = fmt.Errorf("descriptor %d, by its name %s: %s", fd, keytext.Quote(name), why)
		}
	}
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	return fds, nil
}

// errOwn is the error for a descriptor that this process itself has opened.
var errOwn = errors.New("belongs to this process itself")

// foreign returns an error if a descriptor was not inherited. Go opens all its own descriptors
// with FD_CLOEXEC, and no descriptor with this flag survives an exec.
func foreign(fd int) error {
	switch flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); {
	case err != nil:
		return fmt.Errorf("is not open: %w", err)
	case flags&unix.FD_CLOEXEC != 0:
		return errOwn
	}
	return nil
}

// unfit returns the reason why a descriptor is not of the kind that its name requires, or "".
// The function readState checks the content of a state later. The caller closes descriptors with unknown
// names.
func unfit(name string, fd int) string {
	switch name {
	case nameTUN:
		if queue, err := unix.NewIfreq("srd"); err != nil || unix.IoctlIfreq(fd, unix.TUNGETIFF, queue) != nil {
			return "it is not a queue of a TUN device"
		}
	case nameUDP:
		kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		if err != nil || kind != unix.IPPROTO_UDP {
			return "it is not a UDP socket"
		}
	}
	return ""
}
