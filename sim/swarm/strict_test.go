package swarm

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/sim/host"
)

// On a good network, a message that was given up and spurious repairs are errors.
func TestGoodNetworksAreHeldToMore(t *testing.T) {
	for name, spoil := range map[string]func(*Fabric){
		"not delivered": func(f *Fabric) {
			p := f.Hosts[0].Process().Peers[0]
			p.App = lossy{p.App}
		},
		"repairs": func(f *Fabric) {
			f.Hosts[0].Process().Peers[0].Conn.Stats().Retransmitted = 1000
		},
		"dropped": func(f *Fabric) { f.Hosts[0].Process().Drops[host.Forged] = 1 },
		"":        func(*Fabric) {},
	} {
		f := twoHosts(2, 4, clean, nil)
		f.boot()
		f.wantSoon(t, 100, clean.Delay*100)
		s := &swarm{Fabric: f, plan: &plan{kind: kindClean}}
		spoil(f)
		s.demand()
		err := f.Audit.Err()
		if (err != nil) != (name != "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// lossy is an App with one message that has not arrived.
type lossy struct{ host.App }

func (lossy) Undelivered(int) (n, example int) { return 1, 0 }

// The order of packets is required if a repair can arrive before the reordering buffer stops
// waiting. It is not required on a lossy network where the acknowledgement and the repair
// may each have been delayed for as long as frames are held. Without losses, or if all hosts
// spray, order is always required.
func TestOrderIsDemandedWhereRepairsComeInTime(t *testing.T) {
	for _, x := range []struct {
		kind, policy string
		wait         time.Duration
		want         bool
	}{
		{kindLossy, "ecmp", 0, true},
		{kindLossy, "ecmp", order.DefaultHold / 3, true},
		{kindLossy, "ecmp", order.DefaultHold / 2, false},
		{kindReroute, "ecmp", order.DefaultHold / 2, false},
		{kindReroute, "", order.DefaultHold, true},
		{kindClean, "ecmp", order.DefaultHold, true},
	} {
		f := twoHosts(2, 4, clean, nil)
		s := &swarm{Fabric: f, plan: &plan{kind: x.kind, rtt: 10 * time.Millisecond}}
		s.plan.spec.Hosts = []host.Config{{}, {Policy: x.policy}}
		l := f.Links()[1]
		l.Rate = 1e6
		l.Peak = int(x.wait.Seconds() * l.Rate)
		if got := s.repairable(); got != x.want {
			t.Errorf("%s, %q, queues of %v: order demanded: %v", x.kind, x.policy, x.wait, got)
		}
	}
}
