package e2e

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// policies are all path policies, in the order of the test. The last policy uses a single path.
var policies = []string{
	"spray", "letflow", "conga", "presto", "clove-ecn", "plb", "flowbender", "wcmp", "conga-flow", "duplicate", "ecmp", "active-backup",
}

// policySpan is the time for which each policy is in effect.
const policySpan = 1500 * time.Millisecond

// TestPolicyChangesUnderLoad sets each policy in turn while eight connections run. No connection
// may stall, and no message may be abandoned.
func TestPolicyChangesUnderLoad(t *testing.T) {
	long(t)
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{})
	fl := flow(f, 8)
	fl.For = time.Minute // more than all take; to set a policy takes time too
	r, err := meter.Start(fl)
	must(t, err)
	time.Sleep(time.Second)
	var since []time.Duration
	for _, name := range policies {
		since = append(since, r.Elapsed())
		for _, n := range []*tunnel.Node{p.A, p.B} {
			must(t, n.Set("paths.policy="+name))
		}
		time.Sleep(policySpan)
	}
	r.Stop()
	sum := r.Sum()
	for i, name := range policies {
		got := sum.Mean(since[i]+policySpan/3, since[i]+policySpan)
		t.Logf("%-14s %4.0f Mbit/s", name, got/1e6)
		// Each policy must reach half of one path's rate.
		if got < 48e6 {
			t.Errorf("%s: %.0f Mbit/s", name, got/1e6)
		}
	}
	if stall := sum.Stall(time.Second, sum.End(), 96e6); stall > maxStall {
		t.Errorf("all stood still for %v", stall)
	}
	for _, n := range []*tunnel.Node{p.A, p.B} {
		var st struct {
			Peers []struct {
				Policy   string
				Messages struct {
					GivenUp uint64 `json:"given_up"`
				}
			}
		}
		statusOf(t, n, &st)
		if p := st.Peers[0]; p.Policy != policies[len(policies)-1] || p.Messages.GivenUp > 0 {
			t.Errorf("%s: policy %s, %d messages given up", n.Name, p.Policy, p.Messages.GivenUp)
		}
	}
}
