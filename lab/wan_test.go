package lab

import (
	"os"
	"testing"
	"time"
)

// A connection in a tunnel over a path with varying delay must use most of the path's capacity
// within seconds. With a controller that mistakes jitter for a queue, it would use a tenth.
func TestTunnelsOverUnsteadyPaths(t *testing.T) {
	p, err := Load("plans/wan-bulk.toml", os.ReadFile)
	must(t, err)
	p.Limit.Duration = 10 * time.Second
	// The values are in Gbit/s, from the first packet on, in the mean of four seeds.
	want := map[string]float64{"jit_5 a": 0.035, "jit_20 a": 0.018, "jit_20 both": 0.01, "lte_starlink a": 0.012, "congested a": 0.003}
	for i := range p.Cases {
		c := &p.Cases[i]
		least, ok := want[c.Name]
		if !ok {
			continue
		}
		c.Skip = 0
		var all []*Result
		for seed := range uint64(4) {
			r, err := Run(p, c, Ideal, seed+1, nil)
			must(t, err)
			all = append(all, r)
		}
		s := Summarize(all, "", 1)
		if s.Goodput < least {
			t.Errorf("%s: %.4f Gbit/s, want %.4f", c.Name, s.Goodput, least)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("the plan has no %v", want)
	}
}
