package swarm

import (
	"fmt"
	"testing"
	"time"
)

// reached offers a message from a host and returns the time until it arrives.
func (f *Fabric) reached(t *testing.T, from int, most time.Duration) time.Duration {
	t.Helper()
	begin := f.Engine.Since()
	a := f.say(from, 1)
	first := a.Begun()
	if !f.pass(t, most, func() bool { n, _ := a.Undelivered(first); return a.Begun() == first+1 && n == 0 }) {
		t.Fatalf("a message of host %d has not arrived after %v", from, most)
	}
	return f.Engine.Since() - begin
}

// behindNAT builds two hosts. The first is behind a translator and sends keepalives; it
// must begin the handshakes with the second.
func behindNAT(seed uint64, ports int, keepalive time.Duration) *Fabric {
	return twoHostsOf(seed, 4, ports, clean, func(s *FabricSpec) {
		s.NAT[0], s.Passive[1] = true, true
		s.Hosts[0].Keepalive = keepalive
	})
}

// The translator loses the mappings of an idle tunnel. The other end receives only the next
// keepalive of the host behind the translator. This is enough to reach the host again.
func TestRebindWhileIdle(t *testing.T) {
	for _, keepalive := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 25 * time.Second} {
		for _, move := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v moved %v", keepalive, move), func(t *testing.T) {
				f := behindNAT(3, 32, keepalive)
				f.boot()
				f.wantSoon(t, 50, 5*time.Second)
				for range 4 {
					f.pass(t, 2*keepalive+20*time.Second, nil)
					f.NATs[0].Rebind(move)
					f.pass(t, keepalive+time.Second, nil)
					if d := f.reached(t, 1, time.Second); d > 200*time.Millisecond {
						t.Errorf("%v until a message to the host behind arrives", d)
					}
					f.wantSoon(t, 50, time.Second)
				}
			})
		}
	}
}

// The translator has lost the mappings of an idle tunnel, and the host behind it sends the
// first packet. The reply arrives within two round trips plus the hosts' delays: one round
// trip for the packet and one for the challenge.
func TestFirstPacketAfterRebind(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for seed := range uint64(20) {
		for _, move := range []bool{false, true} {
			f := behindNAT(seed, 32, 0)
			f.boot()
			f.wantSoon(t, 50, 5*time.Second)
			for range 3 {
				f.pass(t, 40*time.Second, nil)
				f.NATs[0].Rebind(move)
				there := f.reached(t, 0, time.Second)
				back := f.reached(t, 1, time.Second)
				if there+back > 5*rtt/2 {
					t.Errorf("seed %d, moved %v: %v there, %v back", seed, move, there, back)
				}
				f.wantSoon(t, 50, time.Second)
			}
		}
	}
}
