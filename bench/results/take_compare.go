package results

import (
	"fmt"
	"math"
	"os"

	"github.com/srdtun/srdtun/lab/compare"
)

// These constants select the part of the policy comparison that the table shows: tunnels at the
// servers, with the web-search workload.
const (
	shownFabric   = "conga64"
	shownWorkload = "websearch"
)

var (
	shownSystems   = []string{"spray", "conga", "letflow", "clove-ecn", "presto", "ecmp", "tcp", "mptcp"}
	shownScenarios = []struct{ name, title string }{
		{"symmetric", "all well"}, {"failed", "a link has failed"}, {"quarter", "a link at a quarter"},
		{"incast", "incasts besides"}, {"dead", "a link drops everything"},
	}
)

func takePolicies(file string) (*table, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := compare.Read(f)
	if err != nil {
		return nil, err
	}
	date, err := dated(file)
	if err != nil {
		return nil, err
	}
	t := &table{Date: date, Head: append([]string{"web search, geometric means over the loads"}, shownSystems...)}
	groups := compare.Groups(all)
	for _, s := range shownScenarios {
		row := []string{s.title}
		for _, system := range shownSystems {
			cell, err := overLoads(groups, s.name, system)
			if err != nil {
				return nil, err
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// overLoads returns a system's mean and 99th percentile in a scenario, relative to the best system.
// Both are geometric means over the loads.
func overLoads(groups []*compare.Group, scenario, system string) (string, error) {
	mean, p99, n, open := 0.0, 0.0, 0, 0
	for _, g := range groups {
		if g.Fabric != shownFabric || g.Workload != shownWorkload || g.Scenario != scenario {
			continue
		}
		r, ok := g.Of(system)
		if !ok {
			return "", fmt.Errorf("%s at %.0f %% of %s has no %s", shownWorkload, 100*g.Load, scenario, system)
		}
		mean, p99, n, open = mean+math.Log(r.Mean), p99+math.Log(r.P99), n+1, open+r.Open
	}
	if n == 0 {
		return "", fmt.Errorf("nothing of %s in %s", shownWorkload, scenario)
	}
	text := fmt.Sprintf("%.2f / %.2f", math.Exp(mean/float64(n)), math.Exp(p99/float64(n)))
	if open > 0 {
		text = "> " + text
	}
	return text, nil
}
