package hostdelay

import (
	"fmt"
	"net"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// These variables are the addresses of the two ends, and a third address that no host has. The
// other end drops packets to the third address without processing them, because their Ethernet
// address is not its own.
var (
	near   = [4]byte{10, 99, 0, 1}
	far    = [4]byte{10, 99, 0, 2}
	nobody = [4]byte{10, 99, 0, 3}

	nobodyMAC = net.HardwareAddr{2, 0, 0, 0, 0, 3}
)

// port is the UDP port of both ends.
const port = 7000

// site is a pair of namespaces with a veth pair between them. The calling thread is in the
// receiver's namespace.
type site struct {
	sender chan func() // functions to run on the sender's thread, in the sender's namespace
	recv   int
	send   int
}

func newSite() (*site, error) {
	s := &site{sender: make(chan func()), recv: -1, send: -1}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("a namespace needs root: %w", err)
	}
	ready := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread and its namespace end with the goroutine
		if unix.Unshare(unix.CLONE_NEWNET) != nil {
			ready <- -1
			return
		}
		ready <- unix.Gettid()
		for f := range s.sender {
			f()
		}
	}()
	other := <-ready
	if other < 0 {
		return nil, fmt.Errorf("no second namespace")
	}
	if err := s.wire(other); err != nil {
		s.close()
		return nil, err
	}
	var err error
	s.recv, err = socket(near)
	if e := s.remote(func() (e error) { s.send, e = socket(far); return e }); err == nil {
		err = e
	}
	return s, err
}

func (s *site) close() {
	close(s.sender)
	for _, fd := range []int{s.recv, s.send} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// remote runs f in the sender's namespace.
func (s *site) remote(f func() error) error {
	done := make(chan error)
	s.sender <- func() { done <- f() }
	return <-done
}

// wire creates the devices of the veth pair.
func (s *site) wire(other int) error {
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}
	if err := netlink.LinkAdd(pair); err != nil {
		return err
	}
	peer, err := netlink.LinkByName("far")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsPid(peer, other); err != nil {
		return err
	}
	if err := raise("near", near); err != nil {
		return err
	}
	if err := s.remote(func() error { return raise("far", far) }); err != nil {
		return err
	}
	l, err := netlink.LinkByName("near")
	if err != nil {
		return err
	}
	return netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: nobody[:], HardwareAddr: nobodyMAC,
	})
}

// raise assigns an address to a device and brings the device up.
func raise(name string, addr [4]byte) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	a := &netlink.Addr{IPNet: &net.IPNet{IP: addr[:], Mask: net.CIDRMask(24, 32)}}
	if err := netlink.AddrAdd(l, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(l)
}

// socket opens a UDP socket as srd/udp does. Packets received on this socket carry a kernel
// timestamp.
func socket(addr [4]byte) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for _, o := range [][3]int{
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1}, {unix.IPPROTO_UDP, unix.UDP_GRO, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8 << 20}, {unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4 << 20},
	} {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return -1, err
		}
	}
	return fd, unix.Bind(fd, &unix.SockaddrInet4{Addr: addr, Port: port})
}
