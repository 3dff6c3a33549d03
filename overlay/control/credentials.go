package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxGroups is the largest number of supplementary groups that are read of one caller, as
// NGROUPS_MAX in credentials(7).
const maxGroups = 65536

// credentials identify the process at the other end of a socket. The kernel records a client's
// credentials at connect, and a daemon's at listen (unix(7), SO_PEERCRED).
type credentials struct {
	pid    int
	uid    uint32
	groups []uint32
}

func peerCredentials(c *net.UnixConn) (credentials, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return credentials{}, err
	}
	var cred credentials
	var inner error
	err = raw.Control(func(fd uintptr) {
		var u *unix.Ucred
		if u, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); inner != nil {
			return
		}
		cred.pid, cred.uid = int(u.Pid), u.Uid
		cred.groups, inner = peerGroups(int(fd))
		cred.groups = append(cred.groups, u.Gid)
	})
	return cred, errors.Join(err, inner)
}

// peerGroups returns a caller's supplementary groups by SO_PEERGROUPS (socket(7)). The first
// call of getsockopt passes no buffer, fails with ERANGE, and returns the required length.
func peerGroups(fd int) ([]uint32, error) {
	var groups []uint32
	for size := 0; size <= maxGroups*4; {
		groups = make([]uint32, size/4+1)
		n := uint32(size)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&n)), 0)
		switch {
		case errno == 0:
			return groups[:n/4], nil
		case errno != unix.ERANGE || int(n) <= size:
			return nil, os.NewSyscallError("getsockopt SO_PEERGROUPS", errno)
		}
		size = int(n)
	}
	return nil, errors.New("getsockopt SO_PEERGROUPS: too many groups")
}

// guard decides which callers have access: masters, the daemon's own user, and members of the
// socket's groups.
type guard struct {
	uid     uint32
	masters []uint32
	groups  []uint32
}

// guard reads the socket's groups for each connection, so a chgrp(1) or setfacl(1) takes effect
// immediately.
func (s *Server) guard() (guard, error) {
	groups, err := s.listener.Groups()
	return guard{uid: uint32(os.Geteuid()), masters: s.masters, groups: groups}, err
}

// master reports whether a caller may make all requests.
func (g guard) master(c credentials) bool { return c.uid == 0 || slices.Contains(g.masters, c.uid) }

func (g guard) check(c credentials) error {
	if g.master(c) || c.uid == g.uid || slices.ContainsFunc(c.groups, func(id uint32) bool { return slices.Contains(g.groups, id) }) {
		return nil
	}
	return fmt.Errorf("user %d may not control this interface", c.uid)
}
