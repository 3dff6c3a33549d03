package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// Keys may be used for fewer packets than are in flight in a round trip. There is only one
// handshake in each round trip, and all messages arrive. A host still decrypts packets of
// its peer when its own keys have reached their packet limit.
func TestKeysOfFewPackets(t *testing.T) {
	const messages = 5000
	for _, packets := range []uint64{100, 300, 1000} {
		f := twoHosts(2, 8, net.Quality{Rate: 100 * mbit, Delay: 5 * time.Millisecond, MTU: 1500, Queue: strictQueue}, func(s *FabricSpec) {
			for i := range s.Hosts {
				s.Hosts[i].KeyPackets = packets
			}
		})
		f.boot()
		f.wantSoon(t, 100, 5*time.Second)
		before := f.Hosts[0].Sent + f.Hosts[1].Sent
		a := f.say(0, messages)
		from := a.Begun()
		f.pass(t, 10*time.Second, func() bool {
			n, _ := a.Undelivered(from)
			return a.Begun() == from+messages && n == 0
		})
		sent := f.Hosts[0].Sent + f.Hosts[1].Sent - before
		c := f.Hosts[0].Process().Peers[0].Conn.Stats()
		if n, first := a.Undelivered(from); n > 0 || a.Begun() < from+messages || c.GivenUp > 0 {
			t.Errorf("keys of %d packets: %d of %d messages sent, %d not delivered, first %d, %d given up",
				packets, a.Begun()-from, messages, n, first, c.GivenUp)
		}
		if most := 20 + 4*sent/packets; c.Handshakes > most {
			t.Errorf("keys of %d packets: %d handshakes for %d packets", packets, c.Handshakes, sent)
		}
	}
}
