package blackhole

import (
	"encoding/json"
	"fmt"

	"github.com/srdtun/srdtun/e2e/tunnel"
)

// toll has counters of what a spine's failure costs the inner TCP connections, such as
// retransmissions, and of the causes.
type toll struct {
	Again    int `json:"again"`    // segments that TCP retransmitted
	Signals  int `json:"signals"`  // segments that the tunnel's ingress queue dropped as congestion signals
	Marks    int `json:"marks"`    // frames that this queue marked CE instead, for connections with ECN
	Repaired int `json:"repaired"` // messages that the tunnel retransmitted
	GivenUp  int `json:"given_up"` // messages that the tunnel gave up
}

func (t toll) less(u toll) toll {
	return toll{t.Again - u.Again, t.Signals - u.Signals, t.Marks - u.Marks, t.Repaired - u.Repaired, t.GivenUp - u.GivenUp}
}

func (t toll) plus(u toll) toll {
	return toll{t.Again + u.Again, t.Signals + u.Signals, t.Marks + u.Marks, t.Repaired + u.Repaired, t.GivenUp + u.GivenUp}
}

// String summarizes the counters in a few words.
func (t toll) String() string {
	return fmt.Sprintf("TCP segments again %d, taken out by the queue %d, marked %d, messages repaired %d, given up %d", t.Again, t.Signals, t.Marks, t.Repaired, t.GivenUp)
}

// tolls reads the current counters on a node's host. All TCP traffic of the host's namespace goes
// through the tunnel.
func tolls(n *tunnel.Node) (t toll, err error) {
	t.Again, err = n.Host.Counter("snmp", "Tcp:", "RetransSegs")
	if err != nil {
		return t, err
	}
	raw, err := n.Show()
	if err != nil {
		return t, err
	}
	var status struct {
		Peers []struct {
			Messages struct {
				Retransmitted int `json:"retransmitted"`
				GivenUp       int `json:"given_up"`
			} `json:"messages"`
			Queue struct {
				Drops int `json:"drops"`
				Marks int `json:"marks"`
			} `json:"queue"`
		} `json:"peers"`
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		return t, fmt.Errorf("what %s shows: %w", n.Name, err)
	}
	for _, p := range status.Peers {
		t.Signals += p.Queue.Drops
		t.Marks += p.Queue.Marks
		t.Repaired += p.Messages.Retransmitted
		t.GivenUp += p.Messages.GivenUp
	}
	return t, nil
}
