package udp

import (
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space is a network namespace for a test.
type space struct{ *netspace.Space }

func newSpace(t testing.TB) *space { return &space{netspace.New(t)} }

// address adds addresses to a link and brings it up.
func (s *space) address(t testing.TB, link string, cidrs ...string) {
	t.Helper()
	err := s.Do(func() error {
		l, err := netlink.LinkByName(link)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		for _, c := range cidrs {
			a, err := netlink.ParseAddr(c)
			if err != nil {
				return err
			}
			a.Flags = unix.IFA_F_NODAD
			if err := netlink.AddrReplace(l, a); err != nil {
				return err
			}
			// The kernel adds the route of an IPv6 address a moment later.
			for !isLocal(a.IP) {
				runtime.Gosched()
			}
		}
		return nil
	})
	must(t, err)
}

// isLocal reports whether the kernel accepts packets to ip.
func isLocal(ip net.IP) bool {
	v, err := netlink.RouteGet(ip)
	return err == nil && len(v) > 0 && v[0].Type == unix.RTN_LOCAL
}

// open opens a bank in the namespace.
func (s *space) open(t testing.TB, cfg Config) *Bank {
	t.Helper()
	var b *Bank
	must(t, s.Do(func() (err error) { b, err = Open(cfg); return err }))
	t.Cleanup(b.Close)
	return b
}

// cable connects two namespaces with a veth pair. The near end has 10.9.0.1/24 and
// fd09::1/64; the far end has .2 and ::2.
func cable(t *testing.T, near, far *space) {
	t.Helper()
	err := near.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdu0"}, PeerName: "srdu1", PeerNamespace: netlink.NsPid(far.Thread())})
	})
	must(t, err)
	near.address(t, "srdu0", "10.9.0.1/24", "fd09::1/64")
	far.address(t, "srdu1", "10.9.0.2/24", "fd09::2/64")
}

// receive waits for one datagram on a descriptor.
func receive(t *testing.T, r *Receiver, fd int) (d Datagram) {
	t.Helper()
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 20_000)
		if err == unix.EINTR {
			continue
		}
		if n == 0 || err != nil {
			t.Fatalf("nothing came: %v", err)
		}
		if one(r, fd, &d) {
			return d
		}
	}
}

// one reads one datagram, and reports whether there was one.
func one(r *Receiver, fd int, d *Datagram) bool {
	got, _ := r.Read(fd, 1)
	if len(got) == 0 {
		return false
	}
	*d = got[0]
	return true
}

// at returns the address of socket 0 of b.
func at(b *Bank, addr string) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(addr), b.Socket(0).Port)
}

// fdFor returns the descriptor of socket 0 for the family of addr.
func fdFor(b *Bank, addr string) int {
	if net.ParseIP(addr).To4() != nil {
		return b.Socket(0).fd4
	}
	return b.Socket(0).six()
}

// train makes a train of n packets of `size` bytes, of which the last is shorter. All bytes
// of a packet are its number.
func train(to netip.AddrPort, n, size int) *srd.Train {
	t := &srd.Train{Tuple: srd.Tuple{Remote: to}, Size: size}
	for i := range n {
		k := size
		if i == n-1 && n > 1 {
			k = size/2 + 1
		}
		for range k {
			t.Buf = append(t.Buf, byte(i))
		}
	}
	return t
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
