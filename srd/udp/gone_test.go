package udp

import (
	"net/netip"
	"testing"
)

// A train from an address that the host does not have any more says nothing of
// UDP_SEGMENT: trains on other paths go on in one call each.
func TestSourceAddressGone(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "192.0.2.1/32", "fd09::1/128")
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	for _, c := range []struct{ gone, remote string }{{"192.0.2.77", "192.0.2.1"}, {"fd09::77", "fd09::1"}} {
		var stats SendStats
		send := NewSender(a, &stats)
		lost := train(at(b, c.remote), 3, 100)
		lost.Tuple.Local = netip.MustParseAddr(c.gone)
		send.Send(lost)
		if n := stats.Failed.Load(); n != 3 {
			t.Errorf("%s: %d packets failed", c.gone, n)
		}
		before := stats.Trains.Load()
		send.Send(train(at(b, c.remote), 3, 100))
		if n := stats.Trains.Load() - before; n != 1 {
			t.Errorf("%s: %d calls for the next train", c.gone, n)
		}
	}
}
