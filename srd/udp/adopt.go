package udp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Adopt makes a bank from the sockets that another process has opened and passed to this
// one. Packets that have already arrived stay in the sockets. The argument `ports` contains
// the sockets' ports, in order. Adopt owns the descriptors, even if it fails.
func Adopt(cfg Config, ports []uint16, fds []int) (_ *Bank, err error) {
	b := &Bank{gro: true}
	place := map[uint16]int{}
	for i, p := range ports {
		place[p] = i
		b.socks = append(b.socks, Socket{Port: p, fd4: -1, fd6: -1})
	}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	for _, fd := range fds {
		err = errors.Join(err, b.adopt(fd, place, cfg.Mark))
	}
	switch {
	case err != nil:
		return nil, err
	case len(place) != cfg.Ports || len(ports) != cfg.Ports:
		return nil, fmt.Errorf("udp: %d ports were passed on, not %d", len(place), cfg.Ports)
	case cfg.ListenPort != 0 && ports[0] != cfg.ListenPort:
		return nil, fmt.Errorf("udp: port %d was passed on, not %d", ports[0], cfg.ListenPort)
	}
	for _, s := range b.socks {
		if s.fd4 < 0 {
			return nil, fmt.Errorf("udp: the socket of port %d was not passed on", s.Port)
		}
	}
	return b, nil
}

// adopt stores a descriptor at its position in the bank. The socket options are set again,
// because this program may be newer than the one that opened the socket.
func (b *Bank) adopt(fd int, place map[uint16]int, mark uint32) error {
	family, known, put := 0, false, func() {}
	sa, err := unix.Getsockname(fd)
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		if i, ok := place[uint16(sa.Port)]; ok && sa.Addr == [4]byte{} {
			family, known, put = unix.AF_INET, b.socks[i].fd4 >= 0, func() { b.socks[i].fd4 = fd }
		}
	case *unix.SockaddrInet6:
		if i, ok := place[uint16(sa.Port)]; ok && sa.Addr == [16]byte{} {
			family, known, put = unix.AF_INET6, b.socks[i].fd6 >= 0, func() { b.socks[i].fd6 = int32(fd) }
		}
	}
	if kind, e := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && (e != nil || kind != unix.SOCK_DGRAM) {
		family = 0
	}
	if family == 0 || known {
		unix.Close(fd)
		return errors.Join(errors.New("udp: what was passed on is not a socket of ours"), err)
	}
	put()
	return b.prepare(fd, family, mark)
}

// Descriptors returns the ports and the descriptors of all sockets, for another process. The
// bank still owns the descriptors.
func (b *Bank) Descriptors() (ports []uint16, fds []int) {
	for i := range b.socks {
		ports = append(ports, b.socks[i].Port)
		fds = append(fds, b.socks[i].FDs()...)
	}
	return ports, fds
}
