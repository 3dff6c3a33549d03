package sim

import (
	"testing"
	"time"
)

// A program was killed while the other end was putting frames of it together, and says
// nothing when it is started again. That it is another one is noticed by what is sent to
// it, so those frames must not keep the swarm from sending.
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
	here := f.Hosts[0].process.Peers[0]
	if here.Restarts != 0 || !here.Conn.Session(here.Host().clock()).Ready {
		t.Fatal("no session")
	}
	for range trickleMost {
		here.App.(*Tunnel).alloc(1)
	}
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
