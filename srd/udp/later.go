package udp

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// OpenIPv6 opens the sockets of IPv6 that the host did not have before, all or none, on the
// ports of those of IPv4. Others may send and receive meanwhile. Who polls the descriptors
// has to ask for them again.
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
