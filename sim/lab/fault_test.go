package lab

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim"
	"github.com/srdtun/srdtun/sim/workload"
)

// A plan's first cable dies in the direction up, above the leaf of the first flow that
// leaves its own, any one there; the others follow, each once.
func TestFilePicksAnUplinkOfTheFirstFlow(t *testing.T) {
	n := NewNetwork(sim.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	flows := []*Flow{{Src: 3, Dst: 2}, {Src: 26, Dst: 23}, {Src: 5, Dst: 25}}
	plan := &workload.Faults{Fail: workload.CableFault{On: true, Start: time.Microsecond, Period: time.Millisecond, Most: 1}}
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

// A cable that is dead up only carries what comes down; and a plan that spoils packets
// does so on every cable.
func TestFileFaultsOnLinks(t *testing.T) {
	n := NewNetwork(sim.NewEngine(1, nil), topology(t, "fat_tree_32_1os_2t_400g.topo"), Ports{Queue: 1 << 20})
	dead := &Fault{Kind: "dead", Tier: 1, Cable: []int{0, 1, 2, 3}, Up: true}
	if err := dead.plant(n); err != nil {
		t.Fatal(err)
	}
	up, down := &sink{e: n.Engine}, &sink{e: n.Engine}
	n.Hosts[31].Bind(sim.ProtoUDP, 7, up)
	n.Hosts[0].Bind(sim.ProtoUDP, 7, down)
	n.Engine.Run(time.Microsecond, nil)
	for i := range 100 {
		send(n, 0, 31, uint16(i))
		send(n, 31, 0, uint16(i))
	}
	n.Engine.Run(time.Millisecond, nil)
	if up.n != 0 || down.n != 100 {
		t.Errorf("%d packets went up and %d came down, want 0 and 100", up.n, down.n)
	}
	plan := &workload.Faults{BER: workload.CableFault{On: true, Most: 0.01}}
	for _, x := range fromFile(plan, 0, n, nil, rand.New(rand.NewPCG(1, 0))) {
		if err := x.plant(n); err != nil {
			t.Fatal(err)
		}
	}
	n.Engine.Run(time.Microsecond, nil)
	for _, l := range n.Links() {
		if l.Loss != 0.01 {
			t.Errorf("%s loses %v", l.Name(), l.Loss)
		}
	}
}
