package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// workerFlows is the number of flows. The probability that all of them share one of the two queues
// is 1/30,000.
const workerFlows = 16

// minWork is the minimum share of the work for each of two threads. The kernel assigns flows to the
// device's queues by a hash, which is seldom even.
const minWork = 0.05

// All threads must carry flows to a single peer.
func TestTwoThreadsForOnePeer(t *testing.T) {
	f := network(t, fabric.Spec{RateMbit: -1})
	p := pair(t, f, tunnel.Config{Extra: "workers = 2\n"})
	fl := flow(f, workerFlows)
	fl.For = 3 * time.Second
	r, err := meter.Start(fl)
	must(t, err)
	must(t, r.Wait())
	t.Logf("%.0f Mbit/s", r.Sum().Mean(time.Second, 3*time.Second)/1e6)
	for _, n := range []*tunnel.Node{p.A, p.B} {
		text, err := n.Show()
		must(t, err)
		var st struct {
			Workers []struct {
				Packets uint64 `json:"rx_packets"`
				Trains  uint64 `json:"tx_trains"`
			}
		}
		must(t, json.Unmarshal(text, &st))
		t.Logf("%s: %+v", n.Name, st.Workers)
		if len(st.Workers) != 2 {
			t.Fatalf("%s has %d threads, want 2", n.Name, len(st.Workers))
		}
		a, b := st.Workers[0], st.Workers[1]
		for what, v := range map[string][2]uint64{"packets received": {a.Packets, b.Packets}, "trains sent": {a.Trains, b.Trains}} {
			if least := min(v[0], v[1]); float64(least) < minWork*float64(v[0]+v[1]) {
				t.Errorf("%s, %s: %d and %d", n.Name, what, v[0], v[1])
			}
		}
	}
}
