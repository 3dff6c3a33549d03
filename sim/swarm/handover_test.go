package swarm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A host's program ends, and another takes over its sockets. Soon both sides receive each
// other's messages in a new session. The audit checks each nonce and each message.
func TestAnotherProgramTakesOver(t *testing.T) {
	for seed := range uint64(8) {
		f := twoHostsOf(seed, 4, 8, clean, nil)
		f.boot()
		f.wantSoon(t, 50, 5*time.Second)
		peer := f.Hosts[1].Process().Peers[0]
		for n := range 5 {
			f.Hosts[0].HandOver()
			f.say(1, 10) // the message waits in the socket, because there is no session
			f.pass(t, 150*time.Millisecond, nil)
			f.Hosts[0].Revive()
			f.wantSoon(t, 50, time.Second)
			if peer.Restarts != n+1 {
				t.Errorf("seed %d: %d restarts seen of %d", seed, peer.Restarts, n+1)
			}
		}
	}
}

// Some plans of the swarm have a HandOver fault.
func TestSwarmHandsOver(t *testing.T) {
	n := 0
	for seed := range uint64(200) {
		for _, x := range drawPlan(rand.New(rand.NewPCG(seed, 1)), seed).faults {
			if x.Kind == HandOver {
				n++
			}
		}
	}
	if n < 10 {
		t.Errorf("%d times in 200 seeds", n)
	}
}
