package rundir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The user of a service is only in its own group, so chown(2) cannot give a socket to another
// group. An access control list (acl(5)) can admit a group of which the user is not a member.

// ErrGroups means that the socket works, but the given groups could not get access to it.
var ErrGroups = errors.New("members of groups cannot be admitted")

// The kernel stores an access control list in an extended attribute. The attribute has a version,
// then entries sorted by tag, each with a tag, permissions and an identity
// (linux/posix_acl_xattr.h).
const (
	aclName    = "system.posix_acl_access"
	aclVersion = 2
	aclHeader  = 4
	aclEntry   = 8

	aclOwner      = 0x01
	aclOwnerGroup = 0x04
	aclGroup      = 0x08
	aclMask       = 0x10
	aclOthers     = 0x20

	aclReadWrite = 6
	aclWrite     = 2
	aclNobody    = ^uint32(0)
	// aclMost bounds the access control list that Groups reads, in bytes.
	aclMost = 4 << 10
)

func (s *Listener) admit(groups []uint32) error {
	if len(groups) == 0 {
		return nil
	}
	list := binary.LittleEndian.AppendUint32(nil, aclVersion)
	entry := func(tag, may uint16, id uint32) {
		list = binary.LittleEndian.AppendUint16(list, tag)
		list = binary.LittleEndian.AppendUint16(list, may)
		list = binary.LittleEndian.AppendUint32(list, id)
	}
	entry(aclOwner, aclReadWrite, aclNobody)
	entry(aclOwnerGroup, aclReadWrite, aclNobody)
	for _, g := range groups {
		entry(aclGroup, aclReadWrite, g)
	}
	entry(aclMask, aclReadWrite, aclNobody)
	entry(aclOthers, 0, aclNobody)
	if err := unix.Setxattr(opened(s.inode), aclName, list, 0); err != nil {
		return fmt.Errorf("%w: %s: setxattr: %w", ErrGroups, s.path, err)
	}
	return nil
}

// opened returns a path to the open file fd. No link can redirect this path.
func opened(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// Groups returns the groups with access to the socket: its own group, and the groups of its
// access control list. An administrator may change the socket's group and its access control
// list at any time.
func (s *Listener) Groups() ([]uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(s.inode, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: s.path, Err: err}
	}
	return append(listed(opened(s.inode)), st.Gid), nil
}

// Groups returns the groups with access to another process's socket, as Listener.Groups does. If
// path is no readable socket, Groups returns nothing.
func Groups(path string) []uint32 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil
	}
	return append(listed(path), st.Gid)
}

// listed returns the groups with write permission in a file's access control list.
func listed(path string) []uint32 {
	list := make([]byte, aclMost)
	n, err := unix.Getxattr(path, aclName, list)
	if err != nil {
		return nil
	}
	return parseGroups(list[:n])
}

func parseGroups(list []byte) (groups []uint32) {
	if len(list) < aclHeader || binary.LittleEndian.Uint32(list) != aclVersion {
		return nil
	}
	for e := list[aclHeader:]; len(e) >= aclEntry; e = e[aclEntry:] {
		if binary.LittleEndian.Uint16(e) == aclGroup && binary.LittleEndian.Uint16(e[2:])&aclWrite != 0 {
			groups = append(groups, binary.LittleEndian.Uint32(e[4:]))
		}
	}
	return groups
}
