// Package udp is the bank of UDP sockets that all peers of a process share. Each source port has
// its own socket, because ECMP chooses the path by the source port. A train is a burst of
// packets. The package sends and receives a whole train by a single system call on a
// non-blocking descriptor, without allocation (UDP_SEGMENT, UDP_GRO).
package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// MaxSockets is the largest number of source ports of a bank.
const MaxSockets = 256

// recvBuffer and sendBuffer are socket buffer sizes in bytes. While this process waits for a
// processor, the receive buffer of a port must hold the bytes in flight from all peers. A large
// buffer costs nothing while it is empty, because the kernel charges only for bytes in the
// buffer.
const (
	recvBuffer = 8 << 20
	sendBuffer = 4 << 20
)

// Config has the ports of the sockets to open, and their mark.
type Config struct {
	ListenPort uint16    // port of socket 0; 0: any
	Ports      int       // number of sockets, 1 to MaxSockets
	Range      [2]uint16 // range of the other ports; zero: any
	Mark       uint32    // SO_MARK, 0: none
}

// RangeError means that too many ports of Config.Range are in use.
type RangeError struct {
	Open int // number of open sockets, including the listening one
	Of   Config
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("udp: only %d of %d ports are free in %d-%d", e.Open, e.Of.Ports, e.Of.Range[0], e.Of.Range[1])
}

// PortError gives the reason why a port could not be bound.
type PortError struct {
	Port uint16
	Err  error
}

// PrivilegedPort is the remedy if the kernel refuses a port with EACCES.
const PrivilegedPort = "a port below 1024 needs root or CAP_NET_BIND_SERVICE; in a unit: " +
	"AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE"

func (e *PortError) Unwrap() error { return e.Err }

func (e *PortError) Error() string {
	text := fmt.Sprintf("udp: port %d: %v", e.Port, e.Err)
	if errors.Is(e.Err, unix.EACCES) && e.Port != 0 { // ip(7): below net.ipv4.ip_unprivileged_port_start
		text += " (" + PrivilegedPort + ")"
	}
	return text
}

// Socket is one source port: a descriptor for each address family.
type Socket struct {
	Port uint16
	fd4  int
	fd6  int32 // -1 when the host has no IPv6; atomic, because it may change later
}

// FDs returns the descriptors of the socket, for polling.
func (s *Socket) FDs() []int {
	if six := s.six(); six >= 0 {
		return []int{s.fd4, six}
	}
	return []int{s.fd4}
}

// six returns the IPv6 descriptor, or -1.
func (s *Socket) six() int { return int(atomic.LoadInt32(&s.fd6)) }

// Bank is an open set of sockets. Several goroutines may send and receive on different sockets.
type Bank struct {
	socks   []Socket
	gro     bool
	prefix  uint16 // first 16 bits of our receiver indices
	no6     error  // reason why there are no IPv6 sockets; nil: there are some
	refused refusals
	exits   atomic.Pointer[[]Exit]
}

// Open opens the sockets. After an error no socket stays open.
func Open(cfg Config) (_ *Bank, err error) {
	if cfg.Ports < 1 || cfg.Ports > MaxSockets {
		return nil, fmt.Errorf("udp: %d source ports, want 1 to %d", cfg.Ports, MaxSockets)
	}
	b := &Bank{gro: true}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	first, err := b.openAny(cfg.ListenPort, cfg.Mark)
	if err != nil {
		return nil, &PortError{cfg.ListenPort, err}
	}
	b.socks = append(b.socks, first)
	next := cfg.Range[0]
	for len(b.socks) < cfg.Ports {
		s, e := b.openAny(next, cfg.Mark)
		switch {
		case e == nil:
			b.socks = append(b.socks, s)
		case next == 0 || !errors.Is(e, unix.EADDRINUSE):
			return nil, &PortError{next, e}
		case next == cfg.Range[1]:
			return nil, &RangeError{len(b.socks), cfg}
		}
		if next != 0 {
			if next == cfg.Range[1] && len(b.socks) < cfg.Ports {
				return nil, &RangeError{len(b.socks), cfg}
			}
			next++
		}
	}
	return b, nil
}

// Len returns the number of sockets.
func (b *Bank) Len() int { return len(b.socks) }

// Socket returns socket i.
func (b *Bank) Socket(i int) *Socket { return &b.socks[i] }

// HasPort reports whether one of the sockets has the port.
func (b *Bank) HasPort(port uint16) bool {
	return slices.ContainsFunc(b.socks, func(s Socket) bool { return s.Port == port })
}

// HasIPv6 reports whether socket 0 supports IPv6.
func (b *Bank) HasIPv6() bool { return b.socks[0].six() >= 0 }

// WithoutIPv6 returns the reason why there are no IPv6 sockets, or nil if there are IPv6
// sockets. IPv4 works in either case.
func (b *Bank) WithoutIPv6() error { return b.no6 }

// GRO reports whether the kernel merges received trains.
func (b *Bank) GRO() bool { return b.gro }

// SetMark changes the mark (SO_MARK) of all packets sent from now on.
func (b *Bank) SetMark(mark uint32) error {
	for i := range b.socks {
		for _, fd := range b.socks[i].FDs() {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
				return markError(err)
			}
		}
	}
	return nil
}

// markError explains why packets cannot be marked (socket(7)).
func markError(err error) error {
	err = os.NewSyscallError("setsockopt SO_MARK", err)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w (root or CAP_NET_ADMIN is needed)", err)
	}
	return err
}

// Close closes all sockets.
func (b *Bank) Close() {
	for i := range b.socks {
		for _, fd := range b.socks[i].FDs() {
			unix.Close(fd)
		}
	}
	b.socks = nil
}

// anyTries bounds the number of ephemeral ports that are tried until one is free in both address
// families. The kernel chooses these ports at random. If nine of ten ports are in use in one
// family, all 256 tries fail in one of 10^11 cases.
const anyTries = 256

// openAny is like open, but for port 0 it tries again until a port is free in both address
// families.
func (b *Bank) openAny(port uint16, mark uint32) (s Socket, err error) {
	for range anyTries {
		s, err = b.open(port, mark)
		if port != 0 || !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return s, err
}

// open opens a socket of each address family on one port.
func (b *Bank) open(port uint16, mark uint32) (s Socket, err error) {
	s = Socket{fd4: -1, fd6: -1}
	if s.fd4, err = b.socket(unix.AF_INET, port, mark); err != nil {
		return s, err
	}
	sa, err := unix.Getsockname(s.fd4)
	if err != nil {
		unix.Close(s.fd4)
		return s, err
	}
	s.Port = uint16(sa.(*unix.SockaddrInet4).Port)
	if b.no6 != nil {
		return s, nil
	}
	six, err := b.socket(unix.AF_INET6, s.Port, mark)
	switch {
	case err == nil:
		s.fd6 = int32(six)
	case !errors.Is(err, unix.EADDRINUSE) && len(b.socks) == 0:
		// The host has no IPv6, or has disabled it. The port, the mark and the options are not
		// the reason, because IPv4 has just accepted them.
		b.no6 = err
	default:
		unix.Close(s.fd4)
		return s, err
	}
	return s, nil
}

func (b *Bank) socket(family int, port uint16, mark uint32) (fd int, err error) {
	fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(port)}
	if family == unix.AF_INET6 {
		sa = &unix.SockaddrInet6{Port: int(port)}
		// IPV6_V6ONLY can be set only before bind.
		err = os.NewSyscallError("IPV6_V6ONLY", unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if err == nil {
		err = b.prepare(fd, family, mark)
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ect0 marks outgoing packets as ECN capable, so that routers mark packets instead of dropping
// them (RFC 3168). The transport itself reacts to the marks.
const ect0 = 2

// ecnMask covers the ECN field in the type of service. An ECN field with both bits set means
// Congestion Experienced.
const ecnMask = 3

// prepare sets the options of a socket.
func (b *Bank) prepare(fd, family int, mark uint32) error {
	type opt struct{ level, name, value int }
	var opts []opt
	if family == unix.AF_INET {
		opts = []opt{
			{unix.IPPROTO_IP, unix.IP_PKTINFO, 1},
			{unix.IPPROTO_IP, unix.IP_RECVTOS, 1},
			{unix.IPPROTO_IP, unix.IP_TOS, ect0},
			// Packets are never fragmented. ICMP messages about sizes are ignored, because
			// anyone can forge one. Packet sizes are probed instead (RFC 8899).
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
		}
	} else {
		opts = []opt{
			{unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1},
			{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1},
			{unix.IPPROTO_IPV6, unix.IPV6_TCLASS, ect0},
			{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
		}
	}
	if mark != 0 {
		opts = append(opts, opt{unix.SOL_SOCKET, unix.SO_MARK, int(mark)})
	}
	for _, o := range opts {
		err := unix.SetsockoptInt(fd, o.level, o.name, o.value)
		switch {
		case err == nil:
		case o.name == unix.SO_MARK && o.level == unix.SOL_SOCKET:
			return markError(err)
		default:
			return fmt.Errorf("socket option %d/%d: %w", o.level, o.name, err)
		}
	}
	// A train may wait in the socket until this process runs. The kernel's receive stamp shows when
	// it arrived. Without stamps, the wait counts as zero.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	buffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, recvBuffer)
	buffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer)
	if unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) != nil && b.gro {
		b.gro = false
	}
	return nil
}

// buffer sets the size of a socket buffer, beyond the system's limit if that is permitted.
func buffer(fd, force, plain, size int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
		// A failure is harmless, because a smaller buffer only reduces speed.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size)
	}
}

// LocalFor returns the source address that the kernel's routes choose for packets to `remote`
// with the mark.
func LocalFor(remote netip.AddrPort, mark uint32) (netip.Addr, error) {
	family := unix.AF_INET
	if remote.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return netip.Addr{}, err
	}
	defer unix.Close(fd)
	if mark != 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
			return netip.Addr{}, err
		}
	}
	var sa unix.Sockaddr
	if family == unix.AF_INET {
		sa = &unix.SockaddrInet4{Port: int(remote.Port()), Addr: remote.Addr().As4()}
	} else {
		sa = &unix.SockaddrInet6{Port: int(remote.Port()), Addr: remote.Addr().As16()}
	}
	if err := unix.Connect(fd, sa); err != nil {
		return netip.Addr{}, err
	}
	got, err := unix.Getsockname(fd)
	if err != nil {
		return netip.Addr{}, err
	}
	switch got := got.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(got.Addr), nil
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(got.Addr), nil
	}
	return netip.Addr{}, fmt.Errorf("udp: unexpected address family")
}

// HasAddress reports whether packets may leave from addr. This host must have the address, and
// duplicate address detection must be over (RFC 4862, tentative). HasAddress queries the kernel,
// which also accepts addresses that no interface lists (local routes).
func HasAddress(addr netip.Addr) bool {
	var family int
	var sa unix.Sockaddr
	if addr.Is4() {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Addr: addr.As4()}
	} else {
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Addr: addr.As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true // the answer is unknown, for example because there are no free descriptors
	}
	defer unix.Close(fd)
	return !errors.Is(unix.Bind(fd, sa), unix.EADDRNOTAVAIL)
}
