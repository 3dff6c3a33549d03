package rivals

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/scripts/picture"
)

// cloudHeading writes how the values of "bench cloud" were measured. For real instances the limits
// are unknown, so none are printed.
func (a about) cloudHeading(b *strings.Builder, r results) {
	fmt.Fprintf(b, "\nMedian [least..most] of %d rounds of %d s for each measurement; each round visits everything once. "+
		"Ratios are of values of the same round. A flow's rate is of TCP's payload, from its first packet on. "+
		"Requests go over one connection, each after the answer to the one before.\n", a.Rounds, a.Seconds)
	rebuilt := false
	for _, n := range []network{cloud500, cloud2000} {
		if !r.has(n) {
			continue
		}
		c := caps[n.name]
		c.Police = a.Police
		fmt.Fprintf(b, "\n%s: %s.", n.name, c)
		rebuilt = true
	}
	if !rebuilt {
		return
	}
	fmt.Fprintf(b, "\n\nBoth ends share the machine. MPTCP has 8 subflows. %s is VXLAN with one source port: one 5-tuple, carried by the kernel, in clear. nebula and the others in user space encrypt.\n", oneTuple.title)
}

// has reports whether any value was measured on a network.
func (r results) has(n network) bool {
	for k := range r.values {
		if k.net == n.name {
			return true
		}
	}
	return false
}

// instanceTable returns the table of the transports that were measured between instances.
func (r results) instanceTable() table {
	kinds := map[string]kind{}
	for k := range r.values {
		if k.net == instances.name {
			kinds[k.kind] = kind{name: k.kind, title: k.kind}
		}
	}
	t := table{title: "Between " + instances.title, net: instances}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.kinds = append(t.kinds, kinds[name])
	}
	return t
}

// cloudPanels returns the metrics of a network that the picture shows.
func cloudPanels(n network, what string) []panel {
	return []panel{
		{n, metric{rowFlow1, mbit, "", false}, "One TCP flow" + what, "Mbit/s, more is better", 1},
		{n, metric{rowFlow8, mbit, "", false}, "Eight TCP flows" + what, "Mbit/s, more is better", 1},
		{n, metric{rowFetch, p50ms, "", true}, "Requests for 64 KB" + what, "median, ms, less is better", 1},
		{n, metric{rowFetch, p99ms, "", true}, "Requests for 64 KB" + what, "99th percentile, ms, less is better", 1},
	}
}

// cloudFigure returns the picture of the results of "bench cloud".
func cloudFigure(a about, r results) picture.Figure {
	f := picture.Figure{Subtitle: a.subtitle("; light bars: in clear")}
	if own := r.instanceTable(); own.kinds != nil {
		f.Title = "Between two instances"
		f.Panels = drawn(r, cloudPanels(instances, ""), own.kinds)
		return f
	}
	f.Title = "A limit of 50 Mbit/s for each 5-tuple, as clouds set (1:100)"
	f.Panels = drawn(r, append(cloudPanels(cloud500, ", card of 500 Mbit/s"), cloudPanels(cloud2000, ", card of 2,000 Mbit/s")[:2]...), cloudKinds)
	return f
}
