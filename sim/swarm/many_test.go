package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/steer"
)

func active(c *srd.Conn) (n int) {
	for _, p := range c.Paths() {
		if p.State == srd.PathActive {
			n++
		}
	}
	return n
}

// Both sides have as many ports as the path table has slots. Neither may use all slots for
// itself and leave the other's challenges without responses.
func TestBothHaveAllPorts(t *testing.T) {
	f := twoHosts(4, steer.MaxPaths, clean, nil)
	f.boot()
	f.wantSoon(t, 200, 5*time.Second)
	for range 5 {
		f.wantSoon(t, 200, 5*time.Second)
		f.pass(t, time.Second, nil)
	}
	for i, p := range f.Peers() {
		if n := active(p.Conn); n < steer.MaxPaths/2 {
			t.Errorf("host %d: %d of %d paths work", i, n, len(p.Conn.Paths()))
		}
	}
}

// A peer with the largest number of ports moves. Its former addresses fill the table of
// paths, and there is no evidence yet that they have failed.
func TestRebindOfAllPorts(t *testing.T) {
	f := twoHosts(4, steer.MaxPaths, clean, func(s *FabricSpec) { s.NAT[0], s.Passive[1] = true, true })
	f.boot()
	f.wantSoon(t, 50, 5*time.Second)
	for range 3 {
		f.pass(t, 5*time.Second, nil)
		f.NATs[0].Rebind(true)
		for range 6 { // messages to the former addresses are given up
			f.say(0, 50)
			f.say(1, 50)
			f.pass(t, time.Second, nil)
		}
		f.wantSoon(t, 50, 3*time.Second)
	}
}
