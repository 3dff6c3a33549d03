package rivals

import (
	"fmt"
	"slices"
)

// spread holds the values of one metric in all rounds.
type spread struct {
	n                   int
	median, least, most float64
}

func summarize(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	s := spread{len(v), v[len(v)/2], v[0], v[len(v)-1]}
	if len(v)%2 == 0 {
		s.median = (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return s
}

// String formats the values as "median [least..most]". A single value is formatted alone, and no
// values as a dash.
func (s spread) String() string {
	switch s.n {
	case 0:
		return "–"
	case 1:
		return digits(s.median)
	}
	return fmt.Sprintf("%s [%s..%s]", digits(s.median), digits(s.least), digits(s.most))
}

// digits formats a number with three significant digits.
func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// series holds the values of one metric by round.
type series map[int]float64

// key identifies a series of values.
type key struct{ net, kind, row, metric string }

// results holds all values of a run for the report.
type results struct {
	values    map[key]series
	disturbed int // number of values that were left out because the machine was busy otherwise
	kept      int // number of disturbed values that are reported because there are no others
	failures  []record
}

// gather groups the records by network, tunnel, row and metric. A value of a disturbed measurement
// is left out, unless its series has no other value.
func gather(all []record) results {
	r := results{values: map[key]series{}}
	late := map[key]series{}
	put := func(to map[key]series, v record) {
		k := key{v.Net, v.Kind, v.Row, v.Metric}
		if to[k] == nil {
			to[k] = series{}
		}
		to[k][v.Round] = v.Value
	}
	for _, v := range all {
		switch {
		case v.Error != "":
			r.failures = append(r.failures, v)
		case v.Disturbed != "":
			put(late, v)
		default:
			put(r.values, v)
		}
	}
	for k, s := range late {
		if r.values[k] == nil {
			r.values[k] = s
			r.kept += len(s)
		} else {
			r.disturbed += len(s)
		}
	}
	return r
}

func (r results) get(net, kind string, m metric) series {
	return r.values[key{net, kind, m.row, m.name}]
}

func (s series) spread() spread {
	var v []float64
	for _, x := range s {
		v = append(v, x)
	}
	return summarize(v)
}

// over returns the ratios of two series, round by round, because a slow period of the machine
// affects both values of a round alike.
func (s series) over(base series) spread {
	var v []float64
	for round, x := range s {
		if b := base[round]; b != 0 {
			v = append(v, x/b)
		}
	}
	return summarize(v)
}
