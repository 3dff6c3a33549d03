package udp

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// OpenIPv6 opens IPv6 sockets that the host could not provide before, on the ports of the IPv4
// sockets. OpenIPv6 opens either all of these sockets or none. Other goroutines may send and
// receive at the same time. A poller must get the descriptors again (Socket.FDs).
func (b *Bank) OpenIPv6(mark uint32) (err error) {
	fds := make([]int, 0, len(b.socks))
	defer func() {
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
		}
	}()
	for i := range b.socks {
		port := b.socks[i].Port
		fd, err := b.socket(unix.AF_INET6, port, mark)
		if err == nil {
			fds = append(fds, fd)
			err = b.attach(fd, Shares{1, 1, 1})
		}
		if err != nil {
			return &PortError{port, fmt.Errorf("IPv6: %w", err)}
		}
	}
	for i, fd := range fds {
		atomic.StoreInt32(&b.socks[i].fd6, int32(fd))
	}
	b.no6 = nil
	return nil
}
