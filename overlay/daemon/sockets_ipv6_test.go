package daemon

import (
	"net"
	"slices"
	"testing"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/udp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// bankWithoutIPv6 returns the sockets that a daemon gets on a host without IPv6.
func bankWithoutIPv6(t *testing.T, cfg udp.Config) *udp.Bank {
	t.Helper()
	both, err := udp.Open(cfg)
	must(t, err)
	defer both.Close()
	ports, fds := both.Descriptors()
	var four []int
	for _, fd := range fds {
		if sa, err := unix.Getsockname(fd); err != nil {
			t.Fatal(err)
		} else if _, ok := sa.(*unix.SockaddrInet4); ok {
			d, err := unix.Dup(fd)
			must(t, err)
			four = append(four, d)
		}
	}
	b, err := udp.Adopt(cfg, ports, four)
	must(t, err)
	return b
}

// If a daemon could not open IPv6 sockets at its start, it opens them as soon as the host allows
// them. It reports this, and then reaches peers over IPv6.
func TestSocketsOfIPv6ComeLater(t *testing.T) {
	runDir(t)
	c := parse(t, "127.0.0.1:5999", "[::1]:5999")
	s := newServer(c, newEventLog(false))
	s.sockets.bank = bankWithoutIPv6(t, udp.Config{ListenPort: 5555, Ports: 4, Range: [2]uint16{6000, 6010}})
	kept, err := net.ListenPacket("udp6", "[::]:5555") // prevents the daemon from opening one
	must(t, err)
	a := start(t, s, Options{Config: c})
	b := up(t, other(t))
	if a.server.sockets.bank.HasIPv6() {
		t.Error("it has sockets of IPv6")
	}
	kept.Close()
	// The sockets are opened when the daemon next reads the host's addresses. A new address causes
	// that.
	lo, err := netlink.LinkByName("lo")
	must(t, err)
	addr, err := netlink.ParseAddr("192.0.2.77/32")
	must(t, err)
	must(t, netlink.AddrAdd(lo, addr))
	defer netlink.AddrDel(lo, addr)
	a.told(events.HostMended)
	until(t, "a path over IPv6, which is tried just after that is told", func() bool {
		v, err := dial(t, "srdd0").Ping("near", false)
		return err == nil && slices.ContainsFunc(v.Paths, func(p control.Ping) bool { return p.Remote == "[::1]:5999" && p.RTTUs > 0 })
	})
	for _, r := range []*running{a, b} {
		r.cancel()
		r.wait()
	}
}
