package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// Half of the paths fail silently in both directions while no host sends. Later messages
// must arrive. The first tail probes find a path that works. Other repairs are sent on paths
// with packets from the peer since then.
func TestBurstAfterSilentDeath(t *testing.T) {
	const networks = 60
	q := net.Quality{Rate: 100 * mbit, Delay: time.Millisecond / 2, MTU: 1500, Queue: strictQueue}
	for _, ports := range []int{8, 16} {
		for seed := range uint64(networks) {
			f := twoHostsOf(seed, 2, ports, q, nil)
			f.boot()
			f.wantSoon(t, 50, 5*time.Second)
			f.pass(t, 3*time.Second, nil)
			for i := range f.Hosts {
				f.fail([]*net.Link{f.Cables[i][0].Out, f.Cables[i][0].Back}, 2*time.Second)
			}
			f.pass(t, 100*time.Millisecond, nil)
			a := f.say(0, 12)
			f.pass(t, time.Second, nil)
			if n, first := a.Undelivered(0); n > 0 {
				t.Errorf("network %d, %d ports: %d messages are given up, first %d", seed, ports, n, first)
			}
		}
	}
}
