package lab

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/sim/net"
)

// The first cable of a fault plan fails in the direction up. It is a random cable above the leaf of
// the first flow that leaves its leaf. The other cables follow, each once.
func TestFilePicksAnUplinkOfTheFirstFlow(t *testing.T) {
	n := NewNetwork(net.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	flows := []*Flow{{Src: 3, Dst: 2}, {Src: 26, Dst: 23}, {Src: 5, Dst: 25}}
	plan := &workload.Faults{Cable: workload.Faulty{Fail: workload.Element{On: true, Start: time.Microsecond, Period: time.Millisecond, Most: 1}}}
	seen := map[int]bool{}
	for seed := range uint64(100) {
		v := fromFile(plan, 0, n, flows, rand.New(rand.NewPCG(seed, 0)))
		if one := fromFile(plan, 1, n, flows, rand.New(rand.NewPCG(seed, 0))); len(one) != 1 || one[0].Cable[0] != v[0].Cable[0] {
			t.Fatalf("%d cables, want one, the first of all", len(one))
		}
		died := map[int]bool{}
		for i, x := range v {
			if x.Kind != "dead" || x.Tier != 1 || !x.Up || x.Down || x.At != time.Microsecond+time.Duration(i)*time.Millisecond {
				t.Fatalf("%+v", x)
			}
			died[x.Cable[0]] = true
		}
		if len(died) != len(n.Cables[1]) {
			t.Fatalf("%d cables of %d die", len(died), len(n.Cables[1]))
		}
		first := v[0].Cable[0]
		if leaf := n.Cables[1][first].lower; leaf != 26/4 {
			t.Fatalf("the first is above leaf %d", leaf)
		}
		seen[first] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d of 4 cables were first with some seed", len(seen))
	}
}

// A cable that has failed in the direction up carries packets only down. A fault plan that corrupts
// packets does so on every cable.
func TestFileFaultsOnLinks(t *testing.T) {
	n := NewNetwork(net.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	dead := &Fault{Kind: "dead", Tier: 1, Cable: []int{0, 1, 2, 3}, Up: true}
	must(t, dead.plant(n))
	up, down := &sink{e: n.Engine}, &sink{e: n.Engine}
	n.Hosts[31].Bind(net.ProtoUDP, 7, up)
	n.Hosts[0].Bind(net.ProtoUDP, 7, down)
	n.Engine.Run(time.Microsecond, nil)
	for i := range 100 {
		send(n, 0, 31, uint16(i))
		send(n, 31, 0, uint16(i))
	}
	n.Engine.Run(time.Millisecond, nil)
	if up.n != 0 || down.n != 100 {
		t.Errorf("%d packets went up and %d came down, want 0 and 100", up.n, down.n)
	}
	plan := &workload.Faults{Cable: workload.Faulty{BER: workload.Element{On: true, Most: 0.01}}}
	for _, x := range fromFile(plan, 0, n, nil, rand.New(rand.NewPCG(1, 0))) {
		must(t, x.plant(n))
	}
	n.Engine.Run(time.Microsecond, nil)
	for _, l := range n.Links() {
		if l.Loss != 0.01 {
			t.Errorf("%s loses %v", l.Name(), l.Loss)
		}
	}
}

// When a switch fails, all of its cables fail in both directions for the time in the plan. A
// degraded interface loses packets, and its rate is reduced.
func TestFileFaultsOfSwitchesAndInterfaces(t *testing.T) {
	n := NewNetwork(net.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	plan := &workload.Faults{
		Switch: workload.Faulty{Fail: workload.Element{On: true, For: time.Millisecond}},
		NIC:    workload.Faulty{Degradation: workload.Element{On: true, Percent: 0.75}},
	}
	before := n.Hosts[0].Up.Rate
	for _, x := range fromFile(plan, 0, n, nil, rand.New(rand.NewPCG(1, 0))) {
		must(t, x.plant(n))
	}
	down := func() (cables int) {
		for _, c := range n.Cables[1] {
			if c.Up.Failed() && c.Down.Failed() {
				cables++
			}
		}
		return cables
	}
	n.Engine.Run(time.Microsecond, nil)
	if got, want := down(), len(n.Cables[1])/len(n.tiers[1]); got != want {
		t.Errorf("%d cables are down, want the %d of a switch", got, want)
	}
	slow := 0
	for _, c := range n.Cables[0] {
		if c.Up.Rate == before/4 && c.Down.Rate == before/4 && c.Up.Loss == nicLoss {
			slow++
		}
	}
	if slow != 1 {
		t.Errorf("%d interfaces are degraded, want one", slow)
	}
	n.Engine.Run(2*time.Millisecond, nil)
	if down() != 0 {
		t.Errorf("%d cables are down after the fault", down())
	}
}

// Degraded cables lose the share of packets that their failed lanes would carry. After the end of
// the plan, no cable is degraded. A cable with periodic loss drops some packets in each period.
func TestFileFaultsOfCables(t *testing.T) {
	n := NewNetwork(net.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	flows := []*Flow{{Src: 0, Dst: 31}}
	plan := &workload.Faults{Stop: 4 * time.Microsecond, Cable: workload.Faulty{
		Degradation: workload.Element{On: true, Period: time.Microsecond, Most: 1},
	}}
	v := fromFile(plan, 0, n, flows, rand.New(rand.NewPCG(1, 0)))
	if len(v) != 5 {
		t.Errorf("%d cables are degraded until the plan stops, want 5", len(v))
	}
	for _, x := range v {
		if x.Kind != "loss" || !x.Up || x.Value < laneLoss || x.Value > 1 {
			t.Errorf("%+v", x)
		}
	}
	plan = &workload.Faults{Drop: 0.04, Cable: workload.Faulty{PeriodicLoss: workload.Element{On: true, Burst: 2, Gap: 8}}}
	l := n.Cables[0][0].Up
	for _, x := range fromFile(plan, 0, n, flows, rand.New(rand.NewPCG(1, 0))) {
		if x.Kind == "cycle" {
			x.Tier, x.Cable = 0, []int{0}
		}
		must(t, x.plant(n))
	}
	n.Engine.Run(time.Microsecond, nil)
	if l.Loss != 0.01 {
		t.Errorf("of four links of a way each loses %v, want a quarter of 0.04", l.Loss)
	}
	l.Loss = 0
	for i := range 100 {
		send(n, 0, 31, uint16(i))
	}
	if got := l.Drops[net.LinkBurst]; got != 20 {
		t.Errorf("%d packets of 100 were dropped, want 20", got)
	}
}
