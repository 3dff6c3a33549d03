package daemon

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// However often guests cause handshakes, no more bytes are sent to one address, and to all
// together, than burst and rate allow. An address to which nothing was sent has its whole burst.
func TestGuestCallsAreBounded(t *testing.T) {
	const packet, seconds = 200, 60
	victim, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	var g guestCalls
	sent := 0
	for now := mono.Time(time.Second); now < mono.Time((seconds+1)*time.Second); now = now.Add(time.Millisecond) {
		for range 4 {
			if g.take(now, victim, packet) {
				sent += packet
			}
			if g.take(now, netip.AddrFrom16([16]byte{10: 255, 11: 255, 12: 192, 14: 2, 15: 1}), packet) {
				sent += packet // the same address in its IPv4-mapped form
			}
		}
	}
	if most := calleeBurst + seconds*calleeRate; sent > most || sent < most*9/10 {
		t.Errorf("%d bytes, want nearly %d", sent, most)
	}
	now := mono.Time((seconds + 2) * time.Second)
	if !g.take(now, other, calleeBurst) || g.take(now, other, 1) {
		t.Error("another address has not its own burst")
	}
	all := 0
	for i := range 1 << 20 {
		if to := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}); g.take(now, to, packet) {
			all += packet
		}
	}
	if all > guestsBurst || len(g.to) > mostCallees {
		t.Errorf("%d bytes to all addresses, %d accounts", all, len(g.to))
	}
	now = now.Add(10 * time.Minute)
	if !g.take(now, victim, packet) || len(g.to) > 1 {
		t.Errorf("%d accounts after a rest", len(g.to))
	}
}
