package tundev

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space is a network namespace for a test.
type space struct{ *netspace.Space }

func newSpace(t testing.TB) *space { return &space{netspace.New(t)} }

// readBatch waits for frames on the first queue and reads them.
func readBatch(d *Device, dst []*frame.Frame) (int, error) {
	for {
		if n, err := d.Queue(0).ReadBatch(dst, math.MaxInt); n > 0 || err != nil {
			return n, err
		}
		// poll has a timeout, because closing the descriptor does not end it.
		p := []unix.PollFd{{Fd: int32(d.Queue(0).FD()), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, 20); err != nil && err != unix.EINTR {
			return 0, err
		}
	}
}

// open creates a device with the addresses 10.77.0.host/24 and fd77::host/64, and brings it up.
func (s *space) open(t testing.TB, host byte, opts Options) *Device {
	t.Helper()
	var d *Device
	s.Must(t, func() (err error) {
		if d, err = Open("srdt%d", 1500, opts); err != nil {
			return err
		}
		return configure(d, host)
	})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// configure returns when the kernel accepts packets to the IPv6 address. The kernel prepares the
// address in the background, and adds its local route last.
func configure(d *Device, host byte) error {
	routes, done := make(chan netlink.RouteUpdate), make(chan struct{})
	if err := netlink.RouteSubscribe(routes, done); err != nil {
		return err
	}
	defer func() {
		close(done)
		for range routes {
		}
	}()
	link, err := netlink.LinkByName(d.Name())
	if err != nil {
		return err
	}
	v6 := netip.MustParseAddr(fmt.Sprintf("fd77::%d", host))
	for _, cidr := range []string{fmt.Sprintf("10.77.0.%d/24", host), v6.String() + "/64"} {
		addr, err := netlink.ParseAddr(cidr)
		if err != nil {
			return err
		}
		addr.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	limit := time.After(20 * time.Second)
	for {
		select {
		case u := <-routes:
			if u.Type == unix.RTM_NEWROUTE && u.Table == unix.RT_TABLE_LOCAL && u.Dst != nil && u.Dst.IP.Equal(v6.AsSlice()) {
				return nil
			}
		case <-limit:
			return fmt.Errorf("no local route to %v", v6)
		}
	}
}

// socket creates a socket in the namespace, with a timeout for its blocking calls.
func (s *space) socket(t testing.TB, addr netip.AddrPort, kind int) int {
	t.Helper()
	fd := -1
	s.Must(t, func() (err error) {
		fd, err = unix.Socket(family(addr), kind|unix.SOCK_CLOEXEC, 0)
		return err
	})
	t.Cleanup(func() { unix.Close(fd) })
	limit := unix.Timeval{Sec: 20}
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		must(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &limit))
	}
	return fd
}

func family(a netip.AddrPort) int {
	if a.Addr().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// dial connects a TCP socket of the space `from` to a listener of the space `to`.
// Before it connects, it calls setup() with the client socket.
func dial(t *testing.T, from, to *space, at netip.AddrPort, setup func(fd int) error) (client, server *net.TCPConn) {
	t.Helper()
	l := to.socket(t, at, unix.SOCK_STREAM)
	c := from.socket(t, at, unix.SOCK_STREAM)
	for _, err := range []error{unix.Bind(l, sockaddr(at)), unix.Listen(l, 1), setup(c), unix.Connect(c, sockaddr(at))} {
		must(t, err)
	}
	a, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
	must(t, err)
	defer unix.Close(a)
	return conn(t, c), conn(t, a)
}

func conn(t *testing.T, fd int) *net.TCPConn {
	t.Helper()
	copied, err := unix.Dup(fd)
	must(t, err)
	f := os.NewFile(uintptr(copied), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	must(t, err)
	tcp := c.(*net.TCPConn)
	tcp.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { tcp.Close() })
	return tcp
}

// pump carries frames from the device `from` to the device `to` until `from` is closed,
// and shows each frame to the function see().
func pump(t *testing.T, from, to *Device, see func(*frame.Frame)) {
	pumpAll(t, from, func(frames []*frame.Frame) {
		for _, f := range frames {
			see(f)
			if err := to.Write(f); err != nil && err != os.ErrClosed {
				t.Errorf("Write: %v", err)
			}
			f.Release()
		}
	})
}

// pumpAll reads frames from a device until the test ends, and passes them to take(), which then
// owns them.
func pumpAll(t *testing.T, from *Device, take func([]*frame.Frame)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		batch := make([]*frame.Frame, 128)
		for {
			n, err := readBatch(from, batch)
			if err != nil {
				if err != os.ErrClosed {
					t.Errorf("ReadBatch: %v", err)
				}
				return
			}
			take(batch[:n])
		}
	}()
	t.Cleanup(func() {
		from.Close()
		<-ended
	})
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
