package compare

import (
	"math"
	"testing"

	"github.com/srdtun/srdtun/lab"
)

// shareOut plays flows over links, and returns their completion times.
func shareOut(f *fair, flows ...fairFlow) (took []float64) {
	f.flow = flows
	f.play()
	for _, x := range f.flow {
		took = append(took, x.took)
	}
	return took
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// Two flows on a link get half of it each. The first has the whole link before the second
// begins, and the second has it after the first ends.
func TestFairSharesOfALink(t *testing.T) {
	f := &fair{rate: []float64{10}}
	got := shareOut(f, fairFlow{size: 100, links: []int{0}}, fairFlow{size: 20, start: 4, links: []int{0}})
	// 40 of the first in 4 us; 20 each in 4 more; 40 in the last 4.
	if !near(got[0], 12) || !near(got[1], 4) {
		t.Errorf("took %v us", got)
	}
}

// A flow that one link holds back leaves the rest of another to the flows there (Bertsekas
// and Gallager, Data Networks, section 6.5.2).
func TestFairIsMaxMin(t *testing.T) {
	f := &fair{rate: []float64{10, 3}}
	for _, c := range []struct {
		links [][]int
		want  []float64
	}{
		{[][]int{{0}, {0, 1}}, []float64{7, 3}},
		{[][]int{{0}, {0, 1}, {1}}, []float64{8.5, 1.5, 1.5}},
		{[][]int{{0}, {0}, {0, 1}}, []float64{3.5, 3.5, 3}},
	} {
		var flows []*fairFlow
		for _, l := range c.links {
			flows = append(flows, &fairFlow{links: l})
		}
		for i, got := range f.shares(flows) {
			if !near(got, c.want[i]) {
				t.Errorf("%v: flow %d gets %v, want %v", c.links, i, got, c.want[i])
			}
		}
	}
}

// A late fault takes its share from its beginning on.
func TestFairLosesALink(t *testing.T) {
	f := &fair{rate: []float64{10}, drop: 5, after: 5}
	if got := shareOut(f, fairFlow{size: 100, links: []int{0}}); !near(got[0], 15) {
		t.Errorf("took %v us", got)
	}
}

// No system is faster than the yardstick where flows hardly meet, and all have the same
// flows. The yardstick is never the best system.
func TestNobodyBeatsFairWhereFlowsAreFew(t *testing.T) {
	m := small(t)
	m.Loads = []float64{0.1}
	var err error
	if m.Systems, err = Systems([]string{"spray", "tcp", "fair"}); err != nil {
		t.Fatal(err)
	}
	var all []Record
	for _, c := range m.Cells() {
		if c.Scenario.Incast {
			continue
		}
		r, err := c.Play(read, nil)
		must(t, err)
		all = append(all, *r)
	}
	for _, g := range Groups(all) {
		spray, _ := g.Of("spray")
		fair, _ := g.Of("fair")
		if fair.Mean >= 1 || fair.Us <= 0 || spray.Us < fair.Us || min(g.Ratios[0].Mean, g.Ratios[1].Mean) != 1 {
			t.Errorf("%s: %v %+v", g.Scenario, g.Systems, g.Ratios)
		}
	}
}

// The yardstick has the same flows as all systems.
func TestFairHasTheSameFlows(t *testing.T) {
	c := small(t).Cells()[0]
	c.Scale.Flows = 100
	p, err := c.Plan(read)
	must(t, err)
	r, err := lab.Run(p, &p.Cases[0], lab.Ideal, c.Seed, nil)
	must(t, err)
	flows, err := lab.Flows(p, &p.Cases[0], c.Seed)
	if err != nil || len(flows) != len(r.Flows) || len(flows) < 50 {
		t.Fatalf("%v; %d flows, played were %d", err, len(flows), len(r.Flows))
	}
	for i, f := range flows {
		if g := r.Flows[i]; f.Size != g.Size || f.Src != g.Src || f.Dst != g.Dst || math.Abs(us(f.At)-g.Start) > 1 {
			t.Fatalf("flow %d: %+v, played was %+v", i, f, g)
		}
	}
}
