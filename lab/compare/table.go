package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Ratio has a system's completion times in one cell, divided by those of the best system. The times
// are means over the seeds.
type Ratio struct {
	Mean, P99 float64 // ratios; 1 is the best system
	Us, P99Us float64 // in microseconds
	Incast    float64 // goodput of requests in Gbit/s
	Open      int     // number of flows that did not complete, so that the ratios are lower bounds
	runs      int
}

// Group holds the results of all systems for one combination of network, scenario, workload and
// load.
type Group struct {
	Fabric, Scenario, Workload string
	Load                       float64
	Systems                    []string
	Ratios                     []Ratio
}

// Groups groups the records by everything but the system, and keeps their order.
func Groups(all []Record) (v []*Group) {
	for i := range all {
		r := &all[i]
		k := slices.IndexFunc(v, func(g *Group) bool {
			return g.Fabric == r.Fabric && g.Scenario == r.Scenario && g.Workload == r.Workload && g.Load == r.Load
		})
		if k < 0 {
			k, v = len(v), append(v, &Group{Fabric: r.Fabric, Scenario: r.Scenario, Workload: r.Workload, Load: r.Load})
		}
		v[k].add(r)
	}
	for _, g := range v {
		g.normalise()
	}
	return v
}

func (g *Group) add(r *Record) {
	i := slices.Index(g.Systems, r.System)
	if i < 0 {
		i, g.Systems, g.Ratios = len(g.Systems), append(g.Systems, r.System), append(g.Ratios, Ratio{})
	}
	x := &g.Ratios[i]
	x.runs++
	n := float64(x.runs)
	x.Us += (r.Mean - x.Us) / n
	x.P99Us += (r.P99 - x.P99Us) / n
	x.Incast += (r.Incast - x.Incast) / n
	x.Open += r.Open
}

// best returns the lowest mean and 99th percentile of all systems except the reference, in
// microseconds. If only the reference was measured, it returns the values of the reference.
func (g *Group) best() (mean, p99 float64) {
	mean, p99 = math.Inf(1), math.Inf(1)
	for i, x := range g.Ratios {
		if g.Systems[i] != fairKind || len(g.Systems) == 1 {
			mean, p99 = min(mean, x.Us), min(p99, x.P99Us)
		}
	}
	return mean, p99
}

func (g *Group) normalise() {
	mean, p99 := g.best()
	for i := range g.Ratios {
		x := &g.Ratios[i]
		x.Mean, x.P99 = x.Us/mean, x.P99Us/p99
	}
}

// Of returns the ratio of a system, or false if the system was not measured.
func (g *Group) Of(system string) (Ratio, bool) {
	i := slices.Index(g.Systems, system)
	if i < 0 {
		return Ratio{}, false
	}
	return g.Ratios[i], true
}

// sections groups the groups that differ only in the load, sorted by load.
func sections(all []*Group) (v [][]*Group) {
	for _, g := range all {
		i := slices.IndexFunc(v, func(s []*Group) bool {
			return s[0].Fabric == g.Fabric && s[0].Scenario == g.Scenario && s[0].Workload == g.Workload
		})
		if i < 0 {
			i, v = len(v), append(v, nil)
		}
		v[i] = append(v[i], g)
	}
	for _, s := range v {
		slices.SortStableFunc(s, func(a, b *Group) int { return int(1e6 * (a.Load - b.Load)) })
	}
	return v
}

// names returns the names of a section's systems.
func names(s []*Group) (v []string) {
	for _, g := range s {
		for _, n := range g.Systems {
			if !slices.Contains(v, n) {
				v = append(v, n)
			}
		}
	}
	return v
}

// Table writes the ratios as Markdown tables. The table of each scenario and workload has a row for
// each load and a column for each system. A cell of the table has the mean and the 99th percentile
// of completion times, each divided by the value of the best system. The sign ">" marks systems
// with flows that did not complete.
func Table(w io.Writer, all []*Group) {
	for _, s := range sections(all) {
		systems := names(s)
		fmt.Fprintf(w, "%s, %s, %s: mean / 99th percentile of completion times over the best's\n\n", s[0].Fabric, s[0].Scenario, s[0].Workload)
		fmt.Fprintf(w, "| load | best, ms | %s |\n|---|---|%s\n", strings.Join(systems, " | "), strings.Repeat("---|", len(systems)))
		for _, g := range s {
			g.row(w, systems)
		}
		fmt.Fprintln(w)
		incast(w, s, systems)
	}
}

func (g *Group) row(w io.Writer, systems []string) {
	mean, p99 := g.best()
	fmt.Fprintf(w, "| %.0f %% | %.3g / %.3g |", 100*g.Load, mean/1e3, p99/1e3)
	for _, n := range systems {
		switch x, ok := g.Of(n); {
		case !ok:
			fmt.Fprint(w, " - |")
		case x.Open > 0:
			fmt.Fprintf(w, " >%.2f / >%.2f |", x.Mean, x.P99)
		default:
			fmt.Fprintf(w, " %.2f / %.2f |", x.Mean, x.P99)
		}
	}
	fmt.Fprintln(w)
}

// incast writes the goodput of incast requests, if there are any.
func incast(w io.Writer, s []*Group, systems []string) {
	if s[0].Ratios[0].Incast == 0 {
		return
	}
	fmt.Fprintf(w, "Goodput of requests, Gbit/s\n\n| load | %s |\n|---|%s\n", strings.Join(systems, " | "), strings.Repeat("---|", len(systems)))
	for _, g := range s {
		fmt.Fprintf(w, "| %.0f %% |", 100*g.Load)
		for _, n := range systems {
			x, _ := g.Of(n)
			fmt.Fprintf(w, " %.2f |", x.Incast)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// Behind returns the names of the groups in which a system's mean or 99th percentile exceeds that
// of the best system by more than `share`. The result `of` is the number of groups in which the
// system was measured.
func Behind(all []*Group, system string, share float64) (where []string, of int) {
	for _, g := range all {
		x, ok := g.Of(system)
		if !ok {
			continue
		}
		of++
		if x.Mean <= 1+share && x.P99 <= 1+share {
			continue
		}
		best := func(v func(Ratio) float64) string {
			return g.Systems[slices.IndexFunc(g.Ratios, func(r Ratio) bool { return v(r) == 1 })]
		}
		where = append(where, fmt.Sprintf("%s %s %.0f %%: mean %.2f (best: %s), 99th percentile %.2f (%s)", g.Scenario, g.Workload, 100*g.Load,
			x.Mean, best(func(r Ratio) float64 { return r.Mean }), x.P99, best(func(r Ratio) float64 { return r.P99 })))
	}
	return where, of
}
