package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/srdtun/srdtun/lab"
)

// newTable writes the header of the table of cases. Completion times are in microseconds, and as
// multiples of the ideal time. The columns jain, least and gbps are for endless flows. A dash means
// that the case has no such flows.
func newTable(w io.Writer) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\thost\tflows\tmean us\tmedian\tp99\tmax\tmean/ideal\tmedian\tp99\tmax\t"+
		"drops\tin hosts\tfaults\tresent\tspurious\tpeak KB\tjain\tleast\tgbps\tgoals\t")
	return t
}

func writeRow(w io.Writer, name, host string, s *lab.Summary, goals string) {
	flows := fmt.Sprint(s.Flows)
	if s.Open > 0 {
		flows += fmt.Sprintf(" (%d open)", s.Open)
	}
	times, rates := "-\t-\t-\t-\t-\t-\t-\t-", "-\t-\t-"
	if s.Flows > 0 {
		times = fmt.Sprintf("%.1f\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f",
			s.Mean, s.Median, s.P99, s.Max, s.MeanRatio, s.MedianRatio, s.P99Ratio, s.MaxRatio)
	}
	if s.Goodput > 0 {
		rates = fmt.Sprintf("%.3f\t%.3f\t%.3g", s.Jain, s.Least, s.Goodput)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n",
		name, host, flows, times, s.Drops, s.HostDrops, s.Faults, s.Retransmitted, s.Spurious, s.Peak>>10, rates, goals)
}
