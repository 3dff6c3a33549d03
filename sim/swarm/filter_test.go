package swarm

import (
	"testing"

	"github.com/srdtun/srdtun/sim/net"
)

// A network that drops handshake packets does not affect a working session. The hosts send
// initiations for longer than one handshake is tried, and each message arrives.
func TestFilteredHandshakes(t *testing.T) {
	met := 0
	for seed := uint64(1); met < 3; seed++ {
		e := net.NewEngine(seed, nil)
		p := drawPlan(e.Fork(), seed)
		if p.kind != kindFiltered {
			continue
		}
		met++
		s := newSwarm(e, p)
		s.play()
		if err := s.Audit.Err(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		dropped := uint64(0)
		for _, l := range s.Links() {
			dropped += l.Drops[net.LinkFilter]
		}
		if dropped < giveUpAttempts {
			t.Errorf("seed %d: %d handshake packets were taken away, want all attempts of a handshake", seed, dropped)
		}
	}
}

// giveUpAttempts is the number of attempts after which srd gives a handshake up.
const giveUpAttempts = 22
