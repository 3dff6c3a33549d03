package compare

import "math"

// Panel is a scenario with a workload: the ratios of all systems over all loads.
type Panel struct {
	Fabric, Scenario, Workload string
	Systems                    []string
	// Middle is the geometric mean of the ratios of mean completion times; Low and High
	// are the least and the largest.
	Middle, Low, High []float64
}

// Bars returns the panels of a figure.
func Bars(all []*Group) (v []Panel) {
	for _, s := range sections(all) {
		p := Panel{Fabric: s[0].Fabric, Scenario: s[0].Scenario, Workload: s[0].Workload, Systems: names(s)}
		for _, n := range p.Systems {
			low, high, logs, count := math.Inf(1), 0.0, 0.0, 0.0
			for _, g := range s {
				if x, ok := g.Of(n); ok {
					low, high = min(low, x.Mean), max(high, x.Mean)
					logs, count = logs+math.Log(x.Mean), count+1
				}
			}
			// Of one load all three are the same, but for the last bit.
			middle := min(high, max(low, math.Exp(logs/count)))
			p.Middle, p.Low, p.High = append(p.Middle, middle), append(p.Low, low), append(p.High, high)
		}
		v = append(v, p)
	}
	return v
}
