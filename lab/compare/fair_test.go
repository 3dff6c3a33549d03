package compare

import (
	"math"
	"testing"

	"github.com/srdtun/srdtun/lab"
)

// shareOut runs flows over the links of f, and returns their completion times.
func shareOut(f *fair, flows ...fairFlow) (took []float64) {
	f.flow = flows
	f.play()
	for _, x := range f.flow {
		took = append(took, x.took)
	}
	return took
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// Two flows on a link get half of its rate each. While only one of them is active, it gets the
// whole rate.
func TestFairSharesOfALink(t *testing.T) {
	f := &fair{rate: []float64{10}}
	got := shareOut(f, fairFlow{size: 100, links: []int{0}}, fairFlow{size: 20, start: 4, links: []int{0}})
	// In the first 4 us the first flow sends 40 bytes. In the next 4 us each flow sends 20 bytes,
	// and in the last 4 us one flow sends 40.
	if !near(got[0], 12) || !near(got[1], 4) {
		t.Errorf("took %v us", got)
	}
}

// If one link limits a flow, the other flows on its other links share the capacity that it leaves
// there (Bertsekas and Gallager, Data Networks, section 6.5.2).
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

// A late fault reduces the capacity from its beginning on.
func TestFairLosesALink(t *testing.T) {
	f := &fair{rate: []float64{10}, drop: 5, after: 5}
	if got := shareOut(f, fairFlow{size: 100, links: []int{0}}); !near(got[0], 15) {
		t.Errorf("took %v us", got)
	}
}

// If few flows compete, no system is faster than the theoretical reference. All systems have the
// same flows. The reference never counts as the best system.
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

// The theoretical reference has the same flows as all systems.
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
