package compare

import (
	"fmt"
	"io"

	"github.com/srdtun/srdtun/lab"
)

// OrderTable prints the cost of restoring the order of inner flows. Each system that restores order
// has one row for all its runs. The shares in the table are shares of inner packets.
func OrderTable(w io.Writer, all []Record) {
	systems := bySystem(all, func(r *Record) bool { return r.Order != nil && r.Order.Delivered > 0 })
	if len(systems) == 0 {
		return
	}
	fmt.Fprint(w, "| order restored | runs | packets held | … in the worst run | most at a time | in KB | longest, ms |\n|---|---|---|---|---|---|---|\n")
	for _, runs := range systems {
		var s lab.OrderStats
		worst := 0.0 // largest share of held packets in a run
		for _, r := range runs {
			s.Add(r.Order)
			worst = max(worst, float64(r.Order.Held)/float64(r.Order.Delivered))
		}
		fmt.Fprintf(w, "| %s | %d | %.3f %% | %.2f %% | %d | %.0f | %.2f |\n", runs[0].System, len(runs),
			100*float64(s.Held)/float64(s.Delivered), 100*worst, s.MostHeld, float64(s.MostBytes)/1e3, s.Longest/1e3)
	}
	fmt.Fprintln(w)
}
