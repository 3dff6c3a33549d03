package e2e

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// The fabric has four paths of 60 Mbit/s, so that even a slow machine's processors do not limit
// the goodput. "make drills" and "make bench" measure the processors. An outage of a path stops
// plain TCP for some 7 s.
const (
	linkMbit   = 60
	linkQueue  = linkMbit * 1e6 / 8 / 50   // bytes: 20 ms
	minGoodput = 0.75 * 4 * linkMbit * 1e6 // bit/s: three of four paths, including all headers
	maxStall   = 500 * time.Millisecond    // longest stall of all flows together
	maxFlow    = time.Second               // longest stall of the worst of eight flows
	minShare   = 0.6                       // share of the goodput while one of four paths is down
)

// outage is the schedule of the tests in which a spine fails silently.
var outage = meter.Schedule{Before: 4 * time.Second, During: 5 * time.Second, After: 4 * time.Second}

// links describes the fabric of these tests.
var links = fabric.Spec{RateMbit: linkMbit, LimitBytes: linkQueue}

func flow(f *fabric.Fabric, streams int) meter.Flow {
	return meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(2), Streams: streams}
}

// goodput returns the total goodput of the streams from 2 s to 10 s, in bit/s.
func goodput(t *testing.T, fl meter.Flow) float64 {
	t.Helper()
	fl.For = 10 * time.Second
	r, err := meter.Start(fl)
	must(t, err)
	must(t, r.Wait())
	mean := r.Sum().Mean(2*time.Second, 10*time.Second)
	t.Logf("%d streams: %.0f Mbit/s", max(1, fl.Streams), mean/1e6)
	return mean
}

func blackhole(t *testing.T, f *fabric.Fabric, fl meter.Flow) *meter.Outage {
	t.Helper()
	o, err := meter.Blackhole(f, fl, outage)
	must(t, err)
	t.Log(o)
	return o
}

func TestBlackholeOneFlow(t *testing.T) {
	f := network(t, links)
	pair(t, f, tunnel.Config{})
	o := blackhole(t, f, flow(f, 1))
	if o.Before < minGoodput || o.Stall > maxStall || o.Share < minShare {
		t.Errorf("want at least %.0f Mbit/s before, a stall of at most %v and %.0f %% during the outage", minGoodput/1e6, maxStall, minShare*100)
	}
}

func TestBlackholeEightFlows(t *testing.T) {
	long(t)
	f := network(t, links)
	pair(t, f, tunnel.Config{})
	o := blackhole(t, f, flow(f, 8))
	if o.Before < minGoodput || o.Stall > maxStall || o.WorstFlowStall > maxFlow || o.Share < minShare {
		t.Errorf("want at least %.0f Mbit/s before, stalls of at most %v (one flow: %v) and %.0f %% during the outage", minGoodput/1e6, maxStall, maxFlow, minShare*100)
	}
}

// TestPlainTCPIsStuck shows that the comparison is fair: TCP without a tunnel uses one path, and
// cannot leave the path when it fails. Otherwise, the bounds of the other tests would prove
// nothing.
func TestPlainTCPIsStuck(t *testing.T) {
	long(t)
	f := network(t, links)
	fl := flow(f, 1)
	fl.To = f.B(1).Addr4()
	o := blackhole(t, f, fl)
	if o.Before > linkMbit*1e6 || o.Stall < 4*time.Second {
		t.Error("plain TCP got more than one path, or left a dead one")
	}
}

// TestSmallRequestsBesideABulkFlow detects long queues in the tunnel.
func TestSmallRequestsBesideABulkFlow(t *testing.T) {
	const maxP99 = 100 * time.Millisecond // a tunnel that queues without bound has 640 ms
	f := network(t, links)
	pair(t, f, tunnel.Config{})
	fl := flow(f, 1)
	fl.For = 8 * time.Second
	bulk, err := meter.Start(fl)
	must(t, err)
	defer bulk.Stop()
	l, err := meter.Requests(f.B(1), f.A(1), tunnel.Inner4(2), 10*time.Millisecond, 6*time.Second)
	must(t, err)
	t.Logf("%v beside %.0f Mbit/s", l, bulk.Sum().Mean(2*time.Second, 6*time.Second)/1e6)
	if l.P99 > maxP99 {
		t.Errorf("p99 %v, want at most %v", l.P99, maxP99)
	}
}
