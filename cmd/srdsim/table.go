package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/srdtun/srdtun/sim/lab"
)

// newTable begins a table of cases. Completion times are in microseconds and as
// multiples of the ideal; jain, least and gbps are of endless flows.
func newTable(w io.Writer) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tflows\tmean us\tmedian\tp99\tmax\tmean/ideal\tmedian\tp99\tmax\t"+
		"drops\tfaults\tresent\tspurious\tpeak KB\tjain\tleast\tgbps\tgoals\t")
	return t
}

func writeRow(w io.Writer, name string, s *lab.Summary, goals string) {
	flows := fmt.Sprint(s.Flows)
	if s.Open > 0 {
		flows += fmt.Sprintf(" (%d open)", s.Open)
	}
	fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%d\t%d\t%d\t%.3f\t%.3f\t%.2f\t%s\t\n",
		name, flows, s.Mean, s.Median, s.P99, s.Max, s.MeanRatio, s.MedianRatio, s.P99Ratio, s.MaxRatio,
		s.Drops, s.Faults, s.Retransmitted, s.Spurious, s.Peak>>10, s.Jain, s.Least, s.Goodput, goals)
}
