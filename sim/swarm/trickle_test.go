package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
)

// A program was killed while the other end was reassembling its frames, and sends no
// packets after its restart. Only packets to it reveal the restart, so those incomplete
// frames must not keep the swarm from sending.
func TestTrickleToProgramThatWasKilled(t *testing.T) {
	f := twoHosts(1, 1, clean, func(s *FabricSpec) {
		s.Passive[1] = true
		for i := range s.Hosts {
			s.Hosts[i].Tunnel = true
		}
	})
	f.boot()
	f.say(0, 10)
	f.pass(t, time.Second, nil)
	here := f.Hosts[0].Process().Peers[0]
	if here.Restarts != 0 || !here.Conn.Session(here.Host().Clock()).Ready {
		t.Fatal("no session")
	}
	here.App = halfPut{here.App}
	f.Hosts[1].Kill()
	f.pass(t, time.Second, nil)
	f.Hosts[1].Boot()
	s := &swarm{Fabric: f, plan: &plan{}}
	s.trickle(f.Engine.Since() + 3*time.Second)
	f.pass(t, 3*time.Second, nil)
	if here.Restarts != 1 {
		t.Errorf("%d restarts were noticed, want one", here.Restarts)
	}
}

// halfPut is an App with incomplete frames.
type halfPut struct{ host.App }

func (a halfPut) Open() int { return trickleMost + a.App.Open() }

// A sender that always sends a little data, as in a voice call, detects a restart of the
// peer as soon as other senders.
func TestRestartIsNoticedByThinTraffic(t *testing.T) {
	for _, delay := range []time.Duration{time.Millisecond / 2, 20 * time.Millisecond} {
		for _, every := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond} {
			f := twoHosts(1, 4, net.Quality{Rate: 100 * mbit, Delay: delay, MTU: 1500, Queue: 1 << 20}, func(s *FabricSpec) { s.Passive[1] = true })
			f.boot()
			f.say(0, 100)
			f.pass(t, 2*time.Second, nil)
			here := f.Hosts[0].Process().Peers[0]
			f.Hosts[1].Kill()
			f.Hosts[1].Boot()
			from := f.Engine.Since()
			for here.Restarts == 0 && f.Engine.Since()-from < 10*time.Second {
				f.say(0, 1)
				f.pass(t, every, nil)
			}
			// After 500 ms of silence a handshake begins at the next tail probe, and it takes a
			// round trip.
			if d := f.Engine.Since() - from; d > time.Second {
				t.Errorf("round trips of %v, a message every %v: noticed after %v", 4*delay, every, d)
			}
		}
	}
}
