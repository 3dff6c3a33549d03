package lab

import (
	"math"
	"slices"
)

// Summary summarizes all runs of one case.
type Summary struct {
	Runs  int
	Flows int // number of flows in the summary
	Open  int // number of those that have not ended

	Mean, Median, P99, Max float64 // completion times in microseconds
	MeanRatio, MedianRatio, P99Ratio,
	MaxRatio float64 // maximum of completion time / ideal time

	Drops         uint64 // packets dropped by queues
	HostDrops     uint64 // packets dropped in sockets and interfaces of hosts
	Faults        uint64 // packets lost by faults
	Retransmitted uint64
	Spurious      uint64
	Packets       uint64
	Peak          int // longest queue of a switch in bytes

	// Jain is Jain's fairness index of the endless flows' goodput, in the sample in which it is
	// smallest. Least is the smallest ratio of a flow's goodput in a sample to the mean of all
	// flows in that sample.
	Jain  float64
	Least float64
	// Goodput is the mean goodput of the endless flows, in Gbit/s.
	Goodput float64

	samples int // number of samples in Goodput
}

// Value returns the metric that a goal names. The result `ok` is false if Value has no metric of
// this name.
func (s *Summary) Value(name string) (v float64, ok bool) {
	switch name {
	case "mean_us":
		v = s.Mean
	case "median_us":
		v = s.Median
	case "p99_us":
		v = s.P99
	case "max_us":
		v = s.Max
	case "mean_ratio":
		v = s.MeanRatio
	case "median_ratio":
		v = s.MedianRatio
	case "p99_ratio":
		v = s.P99Ratio
	case "max_ratio":
		v = s.MaxRatio
	case "drops":
		v = float64(s.Drops)
	case "resent":
		v = float64(s.Retransmitted) / float64(s.Runs)
	case "jain":
		v = s.Jain
	case "goodput_gbps":
		v = s.Goodput
	case "least_share":
		v = s.Least
	default:
		return 0, false
	}
	return v, true
}

// Summarize summarizes the runs of a case. Only flows of the group are included. If group is "",
// these are all flows that are not endless. The first `skip` samples of each run are ignored.
func Summarize(runs []*Result, group string, skip int) Summary {
	s := Summary{Runs: len(runs), Jain: 1, Least: 1}
	var times, ratios []float64
	for _, r := range runs {
		for _, f := range r.Flows {
			switch {
			case f.Size == 0 || group != "" && f.Group != group:
			case f.FCT == 0:
				s.Open++
			default:
				times, ratios = append(times, f.FCT), append(ratios, f.FCT/f.Ideal)
			}
		}
		for _, l := range r.Links {
			s.Drops += l.Queue
			s.Faults += l.Faults
			if l.Name[0] == 't' || l.Name[len(l.Name)-1] == '<' {
				s.Peak = max(s.Peak, l.Peak)
			}
		}
		for _, t := range r.Stats {
			s.Retransmitted += t.Retransmitted
			s.Spurious += t.Spurious
			s.Packets += t.Packets
			s.HostDrops += t.Overflow + t.NoBuffer
		}
		s.fairness(r, skip)
	}
	s.Flows = len(times) + s.Open
	s.Mean, s.Median, s.P99, s.Max = spread(times)
	s.MeanRatio, s.MedianRatio, s.P99Ratio, s.MaxRatio = spread(ratios)
	return s
}

// spread returns the mean, the median, the 99th percentile (nearest rank) and the maximum of v.
func spread(v []float64) (mean, median, p99, most float64) {
	if len(v) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(v)
	for _, x := range v {
		mean += x
	}
	rank := func(p float64) float64 { return v[max(0, int(math.Ceil(p*float64(len(v))))-1)] }
	return mean / float64(len(v)), rank(0.5), rank(0.99), v[len(v)-1]
}

// fairness computes Jain and Least from the samples of the endless flows.
func (s *Summary) fairness(r *Result, skip int) {
	for _, row := range r.Samples[min(skip, len(r.Samples)):] {
		var sum, squares, least float64
		n := 0
		for i, b := range row {
			if r.Flows[i].Size > 0 {
				continue
			}
			x := float64(b)
			if n == 0 || x < least {
				least = x
			}
			n++
			sum += x
			squares += x * x
		}
		if n > 1 && sum > 0 {
			s.Jain = min(s.Jain, sum*sum/(float64(n)*squares))
			s.Least = min(s.Least, least/(sum/float64(n)))
		}
		if n > 0 {
			s.samples++
			s.Goodput += (sum/float64(n)*8/r.Sample*1e-3 - s.Goodput) / float64(s.samples)
		}
	}
}
