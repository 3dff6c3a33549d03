package steer

import (
	"math"
	"testing"
)

// shares returns each path's share of n flows.
func shares(p Policy, usable *Set, n int) (v [MaxPaths]float64) {
	for flow := range n {
		v[p.Pick(1, usable, Context{Flow: uint32(flow) * 2654435761})] += 1 / float64(n)
	}
	return v
}

func TestECMPSpreadsFlowsEvenly(t *testing.T) {
	v := shares(NewECMP(5), setOf(8), 80000)
	for p := range 8 {
		if math.Abs(v[p]-0.125) > 0.006 {
			t.Errorf("path %d has %.4f of the flows", p, v[p])
		}
	}
}

// When a path fails, only its own flows move, and they return when it works again.
func TestECMPMovesNoOtherFlows(t *testing.T) {
	for name, p := range map[string]Policy{"ecmp": NewECMP(6), "wcmp": made(t, "wcmp", 6)} {
		all, left := setOf(16), setOf(16)
		left.Remove(3)
		moved := 0
		for flow := range uint32(2000) {
			before, after := p.Pick(1, all, Context{Flow: flow}), p.Pick(2, left, Context{Flow: flow})
			if before != 3 && before != after {
				t.Fatalf("%s: flow %d moves from %d to %d", name, flow, before, after)
			}
			if before == 3 {
				moved++
			}
			if p.Pick(3, all, Context{Flow: flow}) != before {
				t.Fatalf("%s: flow %d does not come back", name, flow)
			}
		}
		if moved == 0 {
			t.Errorf("%s: no flow was on path 3", name)
		}
	}
}

// The classes have the weights 5 and 2, and the class without a configured weight has 1.
// Each class has two paths.
func TestWCMPSharesByWeight(t *testing.T) {
	w := NewWCMP(7, []int{5, 2})
	for p := range 6 {
		w.Place(p, p%3)
	}
	v := shares(w, setOf(6), 100000)
	for p, want := range []float64{5.0 / 16, 2.0 / 16, 1.0 / 16, 5.0 / 16, 2.0 / 16, 1.0 / 16} {
		if math.Abs(v[p]-want) > 0.006 {
			t.Errorf("path %d has %.4f of the flows, want %.4f", p, v[p], want)
		}
	}
	if w.Weight(0) != 1 || w.Weight(1) != 0.4 || w.Weight(2) != 0.2 {
		t.Errorf("weights %v %v %v", w.Weight(0), w.Weight(1), w.Weight(2))
	}
}
