package swarm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A host's program ends, and another goes on: both sides have what the other sends soon, and
// nobody shakes hands. The audit looks at each nonce and each message.
func TestAnotherProgramGoesOn(t *testing.T) {
	for seed := range uint64(8) {
		f := twoHostsOf(seed, 4, 8, clean, nil)
		f.boot()
		f.wantSoon(t, 50, 5*time.Second)
		peer := f.Hosts[1].Process().Peers[0]
		met := peer.Conn.Stats().Handshakes
		for range 5 {
			f.say(1, 10)
			f.pass(t, time.Millisecond, nil) // they are on their way
			f.Hosts[0].HandOver()
			f.pass(t, 150*time.Millisecond, nil)
			f.Hosts[0].Revive()
			f.wantSoon(t, 50, time.Second)
		}
		if peer.Restarts != 0 || peer.Conn.Stats().Handshakes != met || f.Hosts[0].Process().Peers[0].Conn.Stats().Handshakes != 0 {
			t.Errorf("seed %d: %d restarts seen, %d handshakes more", seed, peer.Restarts, peer.Conn.Stats().Handshakes-met)
		}
	}
}

// Who is away for longer than keys live makes a new session.
func TestHandedOverTooLate(t *testing.T) {
	f := twoHostsOf(1, 4, 8, clean, func(s *FabricSpec) { s.Hosts[0].KeyLife, s.Hosts[1].KeyLife = 12*time.Second, 12*time.Second })
	f.boot()
	f.wantSoon(t, 50, 5*time.Second)
	f.Hosts[0].HandOver()
	f.pass(t, 20*time.Second, nil)
	f.Hosts[0].Revive()
	f.wantSoon(t, 50, 5*time.Second)
	if peer := f.Hosts[1].Process().Peers[0]; peer.Restarts != 1 {
		t.Errorf("%d restarts seen", peer.Restarts)
	}
}

// The swarm hands over: some of its plans have such a fault.
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
