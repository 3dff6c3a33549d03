package compare

import (
	"fmt"
	"io"

	"github.com/srdtun/srdtun/lab"
)

// InnerTable prints the counters of TCP inside tunnels, with a row for each system that uses
// tunnels. These counters explain outliers: in a mean, one TCP timeout of 200 ms outweighs hundreds
// of flows.
func InnerTable(w io.Writer, all []Record) {
	systems := bySystem(all, func(r *Record) bool { return r.Inner != nil })
	if len(systems) == 0 {
		return
	}
	fmt.Fprint(w, "| TCP in the tunnel | runs | … with timeouts | timeouts | segments sent again | dropped in front of it | … by servers' links |\n|---|---|---|---|---|---|---|\n")
	for _, runs := range systems {
		var s lab.InnerStats
		with := 0 // number of runs with timeouts
		for _, r := range runs {
			s.Add(r.Inner)
			if r.Inner.Timeouts > 0 {
				with++
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d |\n", runs[0].System, len(runs), with, s.Timeouts, s.Retransmitted, s.Queue, s.Dropped)
	}
	fmt.Fprintln(w)
}
