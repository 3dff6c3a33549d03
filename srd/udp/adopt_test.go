package udp

import (
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// passed returns duplicates of the descriptors of b in another order, as another process
// may get them.
func passed(t *testing.T, b *Bank) (ports []uint16, fds []int) {
	t.Helper()
	ports, own := b.Descriptors()
	for _, fd := range slices.Backward(own) {
		d, err := unix.Dup(fd)
		must(t, err)
		fds = append(fds, d)
	}
	return ports, fds
}

// The next process has the same ports in the same order, and gets the packets that arrived
// in between.
func TestAdopt(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "127.0.0.1/8")
	cfg := Config{ListenPort: 5000, Ports: 4, Range: [2]uint16{6000, 6010}}
	before := descriptors(t)
	first, err := (*Bank)(nil), error(nil)
	must(t, s.Do(func() error { first, err = Open(cfg); return err }))
	ports, fds := passed(t, first)
	first.Close()
	must(t, s.Do(func() error {
		c, err := net.Dial("udp4", "127.0.0.1:6001")
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("meanwhile"))
		return err
	}))
	second, err := Adopt(cfg, ports, fds)
	must(t, err)
	for i, want := range []uint16{5000, 6000, 6001, 6002} {
		if got := second.Socket(i).Port; got != want {
			t.Errorf("socket %d has port %d, want %d", i, got, want)
		}
		if n := len(second.Socket(i).FDs()); n != 2 {
			t.Errorf("socket %d has %d descriptors", i, n)
		}
	}
	d := receive(t, NewReceiver(new(Bank), new(RecvStats)), second.Socket(2).fd4)
	if got := string(d.Data); got != "meanwhile" {
		t.Errorf("received %q", got)
	}
	second.Close()
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors open, %d before", n, before)
	}
}

// If the passed descriptors do not fit the configuration, none stays open.
func TestAdoptRefuses(t *testing.T) {
	s := newSpace(t)
	cfg := Config{ListenPort: 5000, Ports: 2}
	b := s.open(t, cfg)
	stream, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(stream)
	before := descriptors(t)
	dup := func(fd int) int {
		d, err := unix.Dup(fd)
		must(t, err)
		return d
	}
	for name, change := range map[string]func(c *Config, ports *[]uint16, fds *[]int){
		"another number of ports": func(c *Config, _ *[]uint16, _ *[]int) { c.Ports = 3 },
		"another listening port":  func(c *Config, _ *[]uint16, _ *[]int) { c.ListenPort = 5001 },
		"a port twice":            func(_ *Config, ports *[]uint16, _ *[]int) { (*ports)[1] = (*ports)[0] },
		"a socket twice":          func(_ *Config, _ *[]uint16, fds *[]int) { *fds = append(*fds, dup((*fds)[0])) },
		"a socket missing": func(_ *Config, _ *[]uint16, fds *[]int) {
			for _, fd := range *fds {
				unix.Close(fd)
			}
			*fds = nil
		},
		"a stream": func(_ *Config, _ *[]uint16, fds *[]int) { *fds = append(*fds, dup(stream)) },
		"nothing":  func(_ *Config, _ *[]uint16, fds *[]int) { *fds = append(*fds, -1) },
	} {
		c := cfg
		ports, fds := passed(t, b)
		change(&c, &ports, &fds)
		if got, err := Adopt(c, ports, fds); err == nil {
			t.Errorf("%s: no error", name)
			got.Close()
		}
		if n := descriptors(t); n != before {
			t.Errorf("%s: %d descriptors open, %d before", name, n, before)
		}
	}
}

// withoutIPv6 returns a bank with the IPv4 sockets of another, as on a host without IPv6.
func withoutIPv6(t *testing.T, cfg Config, b *Bank) *Bank {
	t.Helper()
	ports, fds := passed(t, b)
	b.Close()
	fds = slices.DeleteFunc(fds, func(fd int) bool {
		sa, err := unix.Getsockname(fd)
		_, six := sa.(*unix.SockaddrInet6)
		if err == nil && six {
			unix.Close(fd)
		}
		return six
	})
	four, err := Adopt(cfg, ports, fds)
	must(t, err)
	t.Cleanup(four.Close)
	return four
}

// IPv6 sockets that the host could not open at the start are opened later, on the same
// ports, all or none.
func TestOpenIPv6Later(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "127.0.0.1/8")
	cfg := Config{ListenPort: 5000, Ports: 4, Range: [2]uint16{6000, 6010}}
	b := withoutIPv6(t, cfg, s.open(t, cfg))
	if err := b.Refuse(7); err != nil || b.HasIPv6() {
		t.Fatalf("%v, IPv6 %v", err, b.HasIPv6())
	}
	before := descriptors(t)
	var other net.PacketConn
	must(t, s.Do(func() (err error) { other, err = net.ListenPacket("udp6", "[::1]:6001"); return err }))
	if err := s.Do(func() error { return b.OpenIPv6(0) }); err == nil || b.HasIPv6() || descriptors(t) != before+1 {
		t.Errorf("somebody has a port: %v, IPv6 %v, %d descriptors of %d", err, b.HasIPv6(), descriptors(t), before+1)
	}
	other.Close()
	must(t, s.Do(func() error { return b.OpenIPv6(0) }))
	ports, fds := b.Descriptors()
	if len(fds) != 8 || b.WithoutIPv6() != nil {
		t.Fatalf("%d descriptors, %v", len(fds), b.WithoutIPv6())
	}
	for i, port := range ports {
		sa, err := unix.Getsockname(b.Socket(i).six())
		if six, ok := sa.(*unix.SockaddrInet6); err != nil || !ok || six.Port != int(port) {
			t.Errorf("socket %d, port %d: %+v, %v", i, port, sa, err)
		}
	}
}
