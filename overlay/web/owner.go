package web

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Owner identifies the owner of a connection: a user of this host, or the address of another
// host. The limit of connections is shared between owners, so an owner with many requests does
// not use up the connections of others.
type Owner struct {
	user  bool
	uid   uint32
	place netip.Prefix // address of an owner that is not a user; the zero value: unknown
}

// UserOwner returns the Owner for a user of this host.
func UserOwner(uid uint32) Owner { return Owner{user: true, uid: uid} }

// String returns the owner as text for messages.
func (o Owner) String() string {
	switch {
	case o.user:
		return fmt.Sprintf("user %d", o.uid)
	case o.place.IsSingleIP():
		return o.place.Addr().String()
	case o.place.IsValid():
		return o.place.String()
	}
	return "somebody"
}

type ownerKey struct{}

// OwnerOf returns the owner of a request's connection.
func OwnerOf(ctx context.Context) Owner {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o
}

// siteBits is the length of the IPv6 prefix whose addresses count as one owner (RFC 6177).
const siteBits = 64

func ownerOf(c net.Conn) Owner {
	switch c := c.(type) {
	case *net.UnixConn:
		return userOf(c)
	case *net.TCPConn:
		local, remote := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
		if remote.Addr().IsLoopback() || remote.Addr() == local.Addr() {
			if uid, ok := userAt(remote, local); ok {
				return UserOwner(uid)
			}
		}
		if remote.Addr().IsLoopback() {
			return Owner{} // all 16 million loopback addresses belong to this host
		}
		bits := remote.Addr().BitLen()
		if remote.Addr().Is6() {
			bits = siteBits
		}
		p, _ := remote.Addr().Prefix(bits)
		return Owner{place: p}
	}
	return Owner{}
}

// addrPort returns a TCP address without its IPv6 zone, because the zone is local to this host.
// An IPv4 address is returned in its 4-byte form.
func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := t.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// userOf returns the user who connected to a unix socket (unix(7), SO_PEERCRED).
func userOf(c *net.UnixConn) (o Owner) {
	raw, err := c.SyscallConn()
	if err != nil {
		return o
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			o = UserOwner(cred.Uid)
		}
	})
	return o
}

// These constants are lengths and offsets in the request and the reply of sock_diag(7), which
// are inet_diag_req_v2 and inet_diag_msg of linux/inet_diag.h, after a netlink header.
const (
	diagRequest = unix.SizeofNlMsghdr + 56
	diagAnswer  = unix.SizeofNlMsghdr + 72
	diagUID     = unix.SizeofNlMsghdr + 64
	diagInode   = unix.SizeofNlMsghdr + 68
	// diagWaitUs bounds the wait for the kernel's reply, which usually arrives immediately.
	diagWaitUs = 100_000
)

// userAt returns the user who owns the TCP socket with these two ends on this host, according to
// the kernel.
func userAt(local, remote netip.AddrPort) (uid uint32, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: diagWaitUs}) != nil {
		return 0, false
	}
	if unix.Sendto(fd, diagQuestion(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return 0, false
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil || n < diagAnswer || binary.NativeEndian.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return 0, false
	}
	// A socket without an inode is closed, and has no user.
	return binary.NativeEndian.Uint32(b[diagUID:]), binary.NativeEndian.Uint32(b[diagInode:]) != 0
}

func diagQuestion(local, remote netip.AddrPort) []byte {
	family := byte(unix.AF_INET)
	if local.Addr().Is6() {
		family = unix.AF_INET6
	}
	b := binary.NativeEndian.AppendUint32(nil, diagRequest)
	b = binary.NativeEndian.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...)                              // sequence number and port of the request
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)                  // no extensions
	b = binary.NativeEndian.AppendUint32(b, 0xffffffff)            // all states
	b = binary.BigEndian.AppendUint16(b, local.Port())             //
	b = binary.BigEndian.AppendUint16(b, remote.Port())            //
	b = append(b, diagAddr(local.Addr())...)                       //
	b = append(b, diagAddr(remote.Addr())...)                      //
	b = binary.NativeEndian.AppendUint32(b, 0)                     // any interface
	return binary.NativeEndian.AppendUint64(b, 0xffffffffffffffff) // any cookie
}

func diagAddr(a netip.Addr) []byte {
	var b [16]byte
	copy(b[:], a.AsSlice())
	return b[:]
}
