package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// descriptors returns the number of open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	v, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(v)
}

func TestOpenAndClose(t *testing.T) {
	s := newSpace(t)
	before := descriptors(t)
	b := s.open(t, Config{ListenPort: 5000, Ports: 5, Range: [2]uint16{4998, 5010}})
	var ports []uint16
	for i := range b.Len() {
		ports = append(ports, b.Socket(i).Port)
		if n := len(b.Socket(i).FDs()); n != 2 {
			t.Errorf("socket %d has %d descriptors", i, n)
		}
	}
	if got := fmt.Sprint(ports); got != "[5000 4998 4999 5001 5002]" {
		t.Errorf("ports %v: the listening port comes first, then the range without it", got)
	}
	if !b.HasIPv6() || !b.GRO() {
		t.Errorf("IPv6 %v, GRO %v", b.HasIPv6(), b.GRO())
	}
	b.Close()
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors open, %d before", n, before)
	}
	s.open(t, Config{ListenPort: 5000, Ports: 1}) // the port is free again
}

func TestAnyPorts(t *testing.T) {
	b := newSpace(t).open(t, Config{Ports: MaxSockets})
	seen := map[uint16]bool{}
	for i := range b.Len() {
		seen[b.Socket(i).Port] = true
	}
	if len(seen) != MaxSockets || seen[0] {
		t.Errorf("%d different ports of %d", len(seen), MaxSockets)
	}
}

// An ephemeral port that is free for only one family is skipped.
func TestAnyPortIsFreeForBothFamilies(t *testing.T) {
	s := newSpace(t)
	err := s.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40009"), 0); err != nil {
			return err
		}
		for port := 40000; port < 40008; port++ {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			t.Cleanup(func() { unix.Close(fd) })
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
				return err
			}
			if err := unix.Bind(fd, &unix.SockaddrInet6{Port: port}); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	b := s.open(t, Config{Ports: 2})
	for i := range 2 {
		if p := b.Socket(i).Port; p < 40008 || p > 40009 {
			t.Errorf("port %d", p)
		}
	}
}

func TestOpenFails(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no ports", Config{}, "0 source ports, want 1 to 256"},
		{"too many", Config{Ports: 257}, "257 source ports, want 1 to 256"},
		{"clash", Config{ListenPort: 6000, Ports: 1}, "port 6000: address already in use"},
		{"clash of IPv6", Config{ListenPort: 6001, Ports: 1}, "port 6001: address already in use"},
		{"range", Config{ListenPort: 7000, Ports: 4, Range: [2]uint16{5999, 6002}}, "only 3 of 4 ports are free in 5999-6002"},
		{"end of ports", Config{ListenPort: 7000, Ports: 4, Range: [2]uint16{65534, 65535}}, "only 3 of 4 ports are free in 65534-65535"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpace(t)
			s.open(t, Config{ListenPort: 6000, Ports: 1})
			six := s.open(t, Config{ListenPort: 6001, Ports: 1})
			unix.Close(six.Socket(0).fd4)
			six.Socket(0).fd4 = -1
			before := descriptors(t)
			err := s.Do(func() error { _, err := Open(c.cfg); return err })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if n := descriptors(t); n != before {
				t.Errorf("%d descriptors open, %d before", n, before)
			}
		})
	}
}

// A lack of descriptors leads to an error, at whichever socket it occurs.
func TestOutOfDescriptors(t *testing.T) {
	s := newSpace(t)
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	descriptors(t)                                                      // makes the runtime open its own descriptors
	top, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0) // the lowest free number
	must(t, err)
	unix.Close(top)
	for more, done := 0, false; !done; more++ {
		before := descriptors(t)
		err := s.Do(func() error {
			low := unix.Rlimit{Cur: uint64(top + more), Max: old.Max}
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
				return err
			}
			defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
			b, err := Open(Config{Ports: 2})
			if err != nil {
				return err
			}
			defer b.Close()
			done = true
			if b.Socket(0).six() < 0 || b.Socket(1).six() < 0 {
				return errors.New("a socket speaks no IPv6")
			}
			return nil
		})
		if err != nil && !errors.Is(err, unix.EMFILE) {
			t.Errorf("%d descriptors for 4 sockets: %v", more, err)
		}
		if n := descriptors(t); n != before {
			t.Errorf("%d descriptors open, %d before", n, before)
		}
	}
}

func TestLocalFor(t *testing.T) {
	s, far := newSpace(t), newSpace(t)
	cable(t, s, far)
	for remote, want := range map[string]string{
		"127.0.0.1:9":  "127.0.0.1",
		"10.9.0.2:9":   "10.9.0.1",
		"[fd09::2]:9":  "fd09::1",
		"192.0.2.1:9":  "",
		"[2001::1]:99": "",
	} {
		var got netip.Addr
		err := s.Do(func() (err error) { got, err = LocalFor(netip.MustParseAddrPort(remote), 0); return err })
		if want == "" {
			if err == nil {
				t.Errorf("%s: %v without a route", remote, got)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", remote, got, err, want)
		}
	}
}
