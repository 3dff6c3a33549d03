package udp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Anyone can forge an ICMP message about packet sizes. It has no effect, because the kernel
// uses no path MTU for our sockets (CVE-2024-53259 of quic-go is of this kind).
func TestICMPAboutSizesIsNotBelieved(t *testing.T) {
	b := newSpace(t).open(t, Config{Ports: 2})
	for i := range b.Len() {
		for _, fd := range b.Socket(i).FDs() {
			family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
			must(t, err)
			level, name, want := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE
			if family == unix.AF_INET6 {
				level, name, want = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE
			}
			if got, err := unix.GetsockoptInt(fd, level, name); err != nil || got != want {
				t.Errorf("socket %d, family %d: MTU discovery is %d (%v), want %d", i, family, got, err, want)
			}
		}
	}
}
