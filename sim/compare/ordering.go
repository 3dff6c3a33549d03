package compare

import (
	"fmt"
	"io"

	"github.com/srdtun/srdtun/sim/lab"
)

// OrderTable writes what restoring the order of inner flows took: a row for each
// system that did so, over all its runs. Shares are of inner packets.
func OrderTable(w io.Writer, all []Record) {
	type row struct {
		system string
		runs   int
		worst  float64 // share of packets held, of the run with the largest
		sum    lab.OrderStats
	}
	var rows []*row
	at := map[string]*row{}
	for i := range all {
		o := all[i].Order
		if o == nil || o.Delivered == 0 {
			continue
		}
		r := at[all[i].System]
		if r == nil {
			r = &row{system: all[i].System}
			at[r.system], rows = r, append(rows, r)
		}
		r.runs++
		r.worst = max(r.worst, float64(o.Held)/float64(o.Delivered))
		r.sum.Add(o)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "| order restored | runs | packets held | … in the worst run | most at a time | in KB | longest, ms |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		s := &r.sum
		fmt.Fprintf(w, "| %s | %d | %.3f %% | %.2f %% | %d | %.0f | %.2f |\n", r.system, r.runs,
			100*float64(s.Held)/float64(s.Delivered), 100*r.worst, s.MostHeld, float64(s.MostBytes)/1e3, s.Longest/1e3)
	}
	fmt.Fprintln(w)
}
