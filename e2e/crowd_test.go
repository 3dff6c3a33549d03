package e2e

import (
	"flag"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	crowdSize  = flag.Int("crowd", 8, "spokes that send to a hub at once, up to 32")
	crowdPorts = flag.Int("crowd-ports", 32, "source ports of the hub and of each of these spokes")
)

const (
	crowdSettles = 4 * time.Second
	crowdSends   = 6 * time.Second
	// minCrowd is what eight flows have at least over four links of 100 Mbit/s, in bit/s. All
	// nine daemons share two processors.
	minCrowd = 200e6
)

// TestCrowdSendsToAHub has each of many peers send one TCP flow to the same host. What limits
// them is the links as long as the processors are not, which all daemons share here: with 32
// spokes they are.
func TestCrowdSendsToAHub(t *testing.T) {
	f := network(t, fabric.Spec{HostsA: *crowdSize})
	var hosts []*fabric.Host
	for i := range *crowdSize {
		hosts = append(hosts, f.A(i+1))
	}
	hub, all := hubWith(t, f.B(1), hosts, *crowdPorts)
	for _, n := range append([]*tunnel.Node{hub}, all...) {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := hub.Host.Listen("tcp", netip.AddrPortFrom(tunnel.Inner4(1), 7000).String())
	if err != nil {
		t.Fatal(err)
	}
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
	for _, n := range all {
		c, err := n.Host.Dial("tcp", l.Addr().String(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for b := make([]byte, 128<<10); err == nil; {
				_, err = c.Write(b)
			}
		}()
	}
	time.Sleep(crowdSettles)
	before := bytes.Load()
	time.Sleep(crowdSends)
	got := float64(bytes.Load()-before) * 8 / crowdSends.Seconds()
	t.Logf("%d spokes: %.0f Mbit/s", *crowdSize, got/1e6)
	if got < minCrowd && *crowdSize == 8 {
		t.Errorf("want %.0f", minCrowd/1e6)
	}
}
