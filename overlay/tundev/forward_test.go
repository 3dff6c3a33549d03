package tundev

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// plainDevice creates a TUN device without offloads in s. It routes 10.79.0.0/24 and fd79::/64 to
// this device, and enables forwarding in s. A test then reads the packets as a cable would carry
// them.
func plainDevice(t *testing.T, s *space) (fd int) {
	t.Helper()
	s.Must(t, func() error {
		var err error
		if fd, err = unix.Open(cloneDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return err
		}
		ifr, err := unix.NewIfreq("plain0")
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
			return err
		}
		link, err := netlink.LinkByName("plain0")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		for _, prefix := range []string{"10.79.0.0/24", "fd79::/64"} {
			dst, err := netlink.ParseIPNet(prefix)
			if err != nil {
				return err
			}
			if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst}); err != nil {
				return err
			}
		}
		for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
			if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
				return err
			}
		}
		return nil
	})
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// Joined datagrams that are forwarded to a device without offloads leave it unchanged, with correct
// checksums. The kernel computes the checksums from the pseudo-header sum and the lengths in the
// joined frame.
func TestJoinedFramesAreForwarded(t *testing.T) {
	const count, size = 10, 700
	for _, text := range []string{"10.79.0.9:5005", "[fd79::9]:5005"} {
		t.Run(text, func(t *testing.T) {
			at := netip.MustParseAddrPort(text)
			a, b := newSpace(t), newSpace(t)
			from, to := a.open(t, 1, Options{}), b.open(t, 2, Options{})
			routeTo(t, a, from.Name(), at.Addr())
			plain := plainDevice(t, b)
			out := a.socket(t, at, unix.SOCK_DGRAM)
			for i := range count {
				must(t, unix.Sendto(out, bytes.Repeat([]byte{byte(i)}, size-i/(count-1)), 0, sockaddr(at)))
			}
			carry(t, from, to, count)
			if n := to.Stats().WrittenJoined; to.Offloads().USO && n != 1 {
				t.Errorf("%d super-frames were joined", n)
			}
			for i := 0; i < count; {
				p := readPlain(t, plain)
				var in packet.Info
				if r := packet.Parse(p, &in); r != packet.OK || in.Dst != at.Addr() {
					continue // the kernel's own packets
				}
				if err := checksumsOf(p, &in); err != nil {
					t.Errorf("packet %d: %v", i, err)
				}
				if data := p[in.HeaderLen+in.L4HeaderLen:]; !bytes.Equal(data, bytes.Repeat([]byte{byte(i)}, size-i/(count-1))) {
					t.Errorf("packet %d: %d bytes, the first %d", i, len(data), data[0])
				}
				i++
			}
		})
	}
}

// routeTo routes an address through the device called name.
func routeTo(t *testing.T, s *space, name string, to netip.Addr) {
	t.Helper()
	s.Must(t, func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		dst, err := netlink.ParseIPNet(netip.PrefixFrom(to, to.BitLen()).String())
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst})
	})
}

// readPlain waits for the next packet of a device without a virtio header.
func readPlain(t *testing.T, fd int) []byte {
	t.Helper()
	const patienceMs = 20_000
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, patienceMs); n == 0 || err != nil && err != unix.EINTR {
			t.Fatalf("no packet: %v", err)
		}
		b := make([]byte, 1<<16)
		if n, err := unix.Read(fd, b); err == nil {
			return b[:n]
		}
	}
}

// checksumsOf sums an UDP packet up, word by word (RFC 1071).
func checksumsOf(b []byte, in *packet.Info) error {
	add := func(s uint32, b []byte) uint32 {
		for i := 0; i < len(b); i += 2 {
			s += uint32(b[i]) << 8
			if i+1 < len(b) {
				s += uint32(b[i+1])
			}
			s = s&0xffff + s>>16
		}
		return s
	}
	if in.Version == 4 && add(0, b[:in.HeaderLen]) != 0xffff {
		return fmt.Errorf("the IPv4 header checksum is wrong: % x", b[:in.HeaderLen])
	}
	l4 := b[in.HeaderLen:]
	pseudo := binary.BigEndian.AppendUint16([]byte{0, in.Proto}, uint16(len(l4)))
	s := add(add(0, in.Src.AsSlice()), in.Dst.AsSlice())
	if add(add(s, pseudo), l4) != 0xffff || binary.BigEndian.Uint16(l4[6:]) == 0 {
		return fmt.Errorf("the UDP checksum is wrong: % x", b[:in.HeaderLen+8])
	}
	return nil
}
