package e2e

import (
	"flag"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/e2e/wireguard"
	"github.com/srdtun/srdtun/overlay/control"
)

var (
	crowdSize  = flag.Int("crowd", 8, "spokes that send to a hub at once, up to 100")
	crowdRival = flag.String("crowd-wireguard", "", "have this wireguard-go carry them instead")
	crowdPorts = flag.Int("crowd-ports", 32, "source ports of the hub and of each of these spokes")
)

const (
	crowdSettles = 4 * time.Second
	crowdIdles   = time.Second // wait after the start of the last spoke, and time of the measurement
	crowdSends   = 6 * time.Second
	crowdAsks    = 20 * time.Millisecond // pause between the small requests of one spoke
	// crowdAsked is the number of spokes that the test asks about their work. Each answer takes
	// processor time.
	crowdAsked = 4
	// minCrowd is the minimum goodput of eight flows over four links of 100 Mbit/s, in bit/s. All
	// nine daemons share two processors.
	minCrowd = 200e6
)

// TestCrowdSendsToAHub lets each of many peers send one TCP flow to the same host. All daemons
// share the processors of one machine. With 32 spokes, the processors limit the flows, and with
// fewer spokes, the links limit them.
func TestCrowdSendsToAHub(t *testing.T) {
	f := network(t, fabric.Spec{HostsA: *crowdSize})
	var hosts []*fabric.Host
	for i := range *crowdSize {
		hosts = append(hosts, f.A(i+1))
	}
	if *crowdRival != "" {
		nodes, err := wireguard.Star(*crowdRival, t.TempDir(), f.B(1), hosts...)
		t.Cleanup(func() {
			if err := wireguard.Close(nodes); err != nil {
				t.Error(err)
			}
		})
		must(t, err)
		crowdRate(t, f.B(1), hosts)
		return
	}
	hub, all := hubWith(t, f.B(1), hosts, *crowdPorts)
	for _, n := range append([]*tunnel.Node{hub}, all...) {
		must(t, n.Start())
	}
	time.Sleep(crowdIdles)
	was := readCPU(t)
	time.Sleep(crowdIdles)
	t.Logf("idle after %v: %.2f processors", crowdIdles, readCPU(t).Since(was).Busy/crowdIdles.Seconds())
	ends := [2][]*tunnel.Node{{hub}, all[:min(len(all), crowdAsked)]}
	var before, after [2]work
	got := crowdRate(t, f.B(1), hosts, func() { before = [2]work{workOf(t, ends[0]), workOf(t, ends[1])} },
		func() { after = [2]work{workOf(t, ends[0]), workOf(t, ends[1])} })
	for i, name := range []string{"hub", "spokes"} {
		t.Logf("%s: %v", name, after[i].since(before[i], len(ends[i]), crowdSends))
	}
	if got < minCrowd && *crowdSize == 8 {
		t.Errorf("want %.0f", minCrowd/1e6)
	}
}

// readCPU returns the machine's processor time since boot.
func readCPU(t *testing.T) meter.CPUTime {
	t.Helper()
	c, err := meter.ReadCPU()
	must(t, err)
	return c
}

// crowdRate lets each of the hosts send to the hub inside the tunnel, and returns the total goodput
// in bit/s. The first host also sends small requests to the hub. crowdRate calls the functions in
// `at` at the beginning and at the end of the measurement.
func crowdRate(t *testing.T, hub *fabric.Host, hosts []*fabric.Host, at ...func()) float64 {
	t.Helper()
	l, err := hub.Listen("tcp", netip.AddrPortFrom(tunnel.Inner4(1), 7000).String())
	must(t, err)
	defer l.Close()
	var bytes atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for b := make([]byte, 256<<10); err == nil; {
					var n int
					n, err = c.Read(b)
					bytes.Add(int64(n))
				}
			}()
		}
	}()
	for _, h := range hosts {
		c, err := h.Dial("tcp", l.Addr().String(), 10*time.Second)
		must(t, err)
		defer c.Close()
		go func() {
			for b := make([]byte, 128<<10); err == nil; {
				_, err = c.Write(b)
			}
		}()
	}
	time.Sleep(crowdSettles)
	if len(at) > 0 {
		at[0]()
	}
	before, was, start := bytes.Load(), readCPU(t), time.Now()
	waits, err := meter.Requests(hub, hosts[0], tunnel.Inner4(1), crowdAsks, crowdSends)
	must(t, err)
	took, during := readCPU(t).Since(was), time.Since(start)
	got := float64(bytes.Load()-before) * 8 / during.Seconds()
	if len(at) > 1 {
		at[1]()
	}
	t.Logf("%d spokes: %.0f Mbit/s, %.2f processors; %v beside them", len(hosts), got/1e6, took.Busy/during.Seconds(), waits)
	return got
}

// work sums up the counters of all daemons, which show how the processor time was spent.
type work struct {
	received, trains             uint64 // received packets; batches of sent packets
	fresh, again, repairs, lates uint64 // messages: delivered, discarded, retransmitted, and retransmitted in vain
	paths                        int    // number of working paths
	cpu                          time.Duration
}

func workOf(t *testing.T, nodes []*tunnel.Node) (w work) {
	t.Helper()
	for _, n := range nodes {
		var v control.Status
		statusOf(t, n, &v)
		for _, k := range v.Workers {
			w.received += k.RxPackets
			w.trains += k.TxTrains
		}
		for i := range v.Peers {
			p := &v.Peers[i]
			w.fresh += p.Order.DeliveredFrames
			w.again += p.Messages.Duplicates
			w.repairs += p.Messages.Retransmitted
			w.lates += p.Messages.Spurious
			for j := range p.Paths {
				if p.Paths[j].State == "active" {
					w.paths++
				}
			}
		}
		u, err := n.Usage()
		must(t, err)
		w.cpu += u.CPU
	}
	return w
}

// since describes the work after the reading `before`, per daemon and second.
func (w work) since(before work, n int, span time.Duration) string {
	per := func(now, then uint64) float64 { return float64(now-then) / span.Seconds() / float64(n) }
	return fmt.Sprintf("%.0f packets/s received, %.0f trains/s sent, %.0f frames/s delivered, %.0f messages/s twice, %.0f repaired, %.0f spuriously; %d paths; %.2f processors",
		per(w.received, before.received), per(w.trains, before.trains), per(w.fresh, before.fresh), per(w.again, before.again),
		per(w.repairs, before.repairs), per(w.lates, before.lates), w.paths/n, (w.cpu-before.cpu).Seconds()/span.Seconds()/float64(n))
}
