//go:build !race

package tundev

import (
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"golang.org/x/sys/unix"
)

// This file is not built with the race detector, under which sync.Pool drops objects at random.
func TestNoAllocations(t *testing.T) {
	s := newSpace(t)
	d := s.open(t, 1, Options{TxQueueLen: 1000})
	ping := echo(d.Pool())
	if n := testing.AllocsPerRun(50, func() {
		must(t, d.Write(ping))
	}); n != 0 {
		t.Errorf("Write: %v allocations", n)
	}
	at := netip.MustParseAddrPort("10.77.0.2:9")
	fd := s.socket(t, at, unix.SOCK_DGRAM)
	for i := range 200 {
		must(t, unix.Sendto(fd, make([]byte, 10+1000*(i%2)), 0, sockaddr(at)))
	}
	batch := make([]*frame.Frame, 4)
	if n := testing.AllocsPerRun(50, func() {
		n, err := readBatch(d, batch)
		must(t, err)
		for _, f := range batch[:n] {
			f.Release()
		}
	}); n != 0 {
		t.Errorf("ReadBatch: %v allocations", n)
	}
	if n := testing.AllocsPerRun(50, func() {
		d.Pool().Get(60_000).Release()
		d.Pool().Get(100).Release()
	}); n != 0 {
		t.Errorf("Pool: %v allocations", n)
	}
}
