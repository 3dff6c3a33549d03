package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
)

// A route changes to one with a smaller MTU. The traffic consists of large packets only, or
// also of small ones, which always pass. The hosts detect the change in both cases, and
// then every message arrives.
func TestRouteOfSmallerPackets(t *testing.T) {
	const mtu, soon, every = 1280, 5 * time.Second, 25 * time.Millisecond
	for _, delay := range []time.Duration{time.Millisecond / 2, 20 * time.Millisecond} {
		for _, ports := range []int{1, 8} {
			for _, size := range []int{1100, 1400} {
				for _, beside := range []int{0, 2} {
					f := twoHosts(1, ports, net.Quality{Rate: 100 * mbit, Delay: delay, MTU: 1500, Queue: 1 << 20}, nil)
					f.boot()
					f.wantSoon(t, 100, 5*time.Second)
					f.pass(t, 2*time.Second, nil)
					f.Cables[0][0].Out.MTU = mtu
					p := f.Hosts[0].Process().Peers[0]
					traffic := func(d time.Duration) {
						for range d / every {
							p.App.Offer(host.Batch{N: 2, Min: size, Max: size, Class: srd.Stream})
							p.App.Offer(host.Batch{N: beside, Min: 20, Max: 50, Class: srd.Stream})
							f.Hosts[0].Poke()
							f.pass(t, every, nil)
						}
					}
					traffic(soon)
					before := *p.Conn.Stats()
					traffic(time.Second)
					after := *p.Conn.Stats()
					if n := after.GivenUp - before.GivenUp; n != 0 || after.Sent == before.Sent {
						t.Errorf("%v each way, %d ports, %d bytes, %d small beside: after %v %d of %d messages are given up, %+v",
							2*delay, ports, size, beside, soon, n, after.Sent-before.Sent, p.Conn.Paths()[0])
					}
				}
			}
		}
	}
}
