package compare

import (
	"fmt"
	"io"

	"github.com/srdtun/srdtun/sim/lab"
)

// InnerTable writes what TCP inside of tunnels met: a row for each system that has such,
// over all its runs. A timeout of 200 ms outweighs hundreds of flows in a mean.
func InnerTable(w io.Writer, all []Record) {
	type row struct {
		system     string
		runs, with int // with timeouts
		sum        lab.InnerStats
	}
	var rows []*row
	at := map[string]*row{}
	for i := range all {
		n := all[i].Inner
		if n == nil {
			continue
		}
		r := at[all[i].System]
		if r == nil {
			r = &row{system: all[i].System}
			at[r.system], rows = r, append(rows, r)
		}
		r.runs++
		if n.Timeouts > 0 {
			r.with++
		}
		r.sum.Add(n)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "| TCP in the tunnel | runs | … with timeouts | timeouts | segments sent again | dropped in front of it | … by servers' links |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		s := &r.sum
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d |\n", r.system, r.runs, r.with, s.Timeouts, s.Retransmitted, s.Queue, s.Dropped)
	}
	fmt.Fprintln(w)
}
