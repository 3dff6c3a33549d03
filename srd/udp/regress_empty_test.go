package udp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Reading an empty datagram costs as much as reading any other, but a limit in bytes does
// not count it (CVE-2026-11352 of curl). The kernel drops empty datagrams, because the
// filter's first load is beyond their end.
func TestEmptyDatagramsAreRefused(t *testing.T) {
	s := newSpace(t)
	from, to := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	must(t, to.Refuse(testPrefix))
	r := NewReceiver(new(Bank), new(RecvStats))
	port := int(to.Socket(0).Port)
	for addr, sa := range map[string]unix.Sockaddr{
		"127.0.0.1": &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}},
		"::1":       &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}},
	} {
		const copies = 640
		before := to.Refused()
		for range copies {
			must(t, unix.Sendto(fdFor(from, addr), nil, 0, sa))
		}
		came := 0
		for d := (Datagram{}); one(r, fdFor(to, addr), &d); came++ {
			if len(d.Data) != 0 {
				t.Fatalf("%d bytes came", len(d.Data))
			}
		}
		if came > 40 || came+int(to.Refused()-before) != copies {
			t.Errorf("to %s: %d of %d came, %d were refused", addr, came, copies, to.Refused()-before)
		}
	}
}
