package udp

import (
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// If a send fails because the host has lost the source address, this does not count as a
// failure of UDP_SEGMENT. Trains on other paths are still sent with one call each.
func TestSourceAddressGone(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "192.0.2.1/32", "fd09::1/128")
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	for _, c := range []struct{ gone, remote string }{{"192.0.2.77", "192.0.2.1"}, {"fd09::77", "fd09::1"}} {
		var stats SendStats
		send := NewSender(a, &stats)
		lost := train(at(b, c.remote), 3, 100)
		lost.Tuple.Local = srd.UplinkOf(netip.MustParseAddr(c.gone), 0)
		if !send.Send(lost) {
			t.Errorf("%s: nobody is told that the address is gone", c.gone)
		}
		if n := stats.Unreachable.Load(); n != 3 {
			t.Errorf("%s: %d packets from an address that is gone", c.gone, n)
		}
		if lost.Buf, lost.Size = lost.Buf[:100], 100; !send.Send(lost) {
			t.Errorf("%s: nobody is told of a packet on its own", c.gone)
		}
		before := stats.Trains.Load()
		if send.Send(train(at(b, c.remote), 3, 100)) {
			t.Errorf("%s: an address that is there is taken to be gone", c.remote)
		}
		if n := stats.Trains.Load() - before; n != 1 {
			t.Errorf("%s: %d calls for the next train", c.gone, n)
		}
	}
}

func TestHasAddress(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "192.0.2.1/32", "fd09::1/128")
	for addr, want := range map[string]bool{
		"192.0.2.1": true, "192.0.2.2": false, "127.0.0.9": true, "fd09::1": true, "fd09::2": false,
	} {
		s.Must(t, func() error {
			if got := HasAddress(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s: %v, want %v", addr, got, want)
			}
			return nil
		})
	}
}
