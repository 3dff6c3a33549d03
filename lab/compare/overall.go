package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Overall summarizes one fabric, with a row for each system and a column for each scenario and
// workload.
type Overall struct {
	Fabric  string
	Systems []string
	Columns []Column
	// Ratios has a row for each system. For each load, the system's mean completion time is divided
	// by that of the best system. A ratio is the geometric mean of these quotients over all loads.
	// 0 means that it was not measured.
	Ratios [][]float64
}

// Column identifies a scenario with a workload.
type Column struct{ Scenario, Workload string }

// Overalls returns one summary for each fabric. Columns of one workload are adjacent.
func Overalls(all []*Group) (v []Overall) {
	for _, s := range sections(all) {
		i := slices.IndexFunc(v, func(h Overall) bool { return h.Fabric == s[0].Fabric })
		if i < 0 {
			i, v = len(v), append(v, Overall{Fabric: s[0].Fabric})
		}
		v[i].add(s)
	}
	for i := range v {
		v[i].sort()
	}
	return v
}

// add adds a column that covers all loads of a scenario and workload.
func (h *Overall) add(s []*Group) {
	h.Columns = append(h.Columns, Column{s[0].Scenario, s[0].Workload})
	for _, n := range names(s) {
		if !slices.Contains(h.Systems, n) {
			h.Systems, h.Ratios = append(h.Systems, n), append(h.Ratios, make([]float64, len(h.Columns)-1))
		}
	}
	for i, n := range h.Systems {
		h.Ratios[i] = append(h.Ratios[i], overLoads(s, n))
	}
}

// overLoads returns the geometric mean of a system's ratios over all loads, or 0 if there are none.
func overLoads(s []*Group, system string) float64 {
	logs, count := 0.0, 0.0
	for _, g := range s {
		if x, ok := g.Of(system); ok {
			logs, count = logs+math.Log(x.Mean), count+1
		}
	}
	if count == 0 {
		return 0
	}
	return math.Exp(logs / count)
}

// sort makes the columns of one workload adjacent. The first column of each workload determines the
// workload's position.
func (h *Overall) sort() {
	var order []int
	for i, c := range h.Columns {
		if slices.IndexFunc(h.Columns, func(o Column) bool { return o.Workload == c.Workload }) < i {
			continue // already added with the first column of its workload
		}
		for k, o := range h.Columns {
			if o.Workload == c.Workload {
				order = append(order, k)
			}
		}
	}
	h.Columns = chosen(h.Columns, order)
	for i := range h.Ratios {
		h.Ratios[i] = chosen(h.Ratios[i], order)
	}
}

// chosen returns the elements of the slice `all` whose indexes are in the slice `order`.
func chosen[T any](all []T, order []int) (v []T) {
	for _, k := range order {
		v = append(v, all[k])
	}
	return v
}

// OverallTable writes the summaries as Markdown tables.
func OverallTable(w io.Writer, all []*Group) {
	for _, h := range Overalls(all) {
		fmt.Fprintf(w, "%s: mean completion time over the best's, geometric mean over the loads\n\n| |", h.Fabric)
		for _, c := range h.Columns {
			fmt.Fprintf(w, " %s, %s |", c.Workload, c.Scenario)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(h.Columns)))
		for i, n := range h.Systems {
			fmt.Fprintf(w, "| %s |", n)
			for _, x := range h.Ratios[i] {
				fmt.Fprintf(w, " %s |", ratioText(x))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
}

// ratioText formats a ratio with a suitable number of digits.
func ratioText(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
