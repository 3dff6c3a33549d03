package regress

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/srdtun/srdtun/bench/markdown"
	"github.com/srdtun/srdtun/e2e/others"
)

// table holds the results, with one row for each metric.
type table struct {
	base, head string
	rows       []row
}

type row struct {
	figure
	verdict
}

func (t *table) add(f figure, v verdict) { t.rows = append(t.rows, row{f, v}) }

func (t *table) worse() (n int) {
	for _, r := range t.rows {
		if r.word == worse {
			n++
		}
	}
	return n
}

func (r row) cells() []string {
	change := "-"
	if r.judged > 0 {
		change = fmt.Sprintf("%.2f [%.2f..%.2f]", r.median, r.low, r.high)
	}
	arrow := "more is better"
	if r.lower {
		arrow = "less is better"
	}
	pairs := fmt.Sprint(r.judged)
	if r.judged < r.pairs {
		pairs = fmt.Sprintf("%d, %d disturbed", r.judged, r.pairs-r.judged)
	}
	return []string{r.name, r.unit, number(r.base), number(r.head), change, pairs, arrow, r.word}
}

var heads = []string{"figure", "unit", "base", "head", "head/base", "pairs", "", "verdict"}

// write prints all rows as a Markdown table.
func (t *table) write(w io.Writer) {
	fmt.Fprintf(w, "base %s, head %s. Medians; ratio: median [range] of pairs in turn. Both ends share the processors.\n\n", t.base, t.head)
	disturbed := 0
	var rows [][]string
	for _, r := range t.rows {
		rows = append(rows, r.cells())
		if r.word == none {
			disturbed++
		}
	}
	markdown.Table(w, heads, rows)
	fmt.Fprintf(w, "\n%d of %d figures are worse.", t.worse(), len(t.rows))
	if disturbed > 0 {
		fmt.Fprintf(w, " %d could not be judged: other processes took more than %.1f processors.", disturbed, others.Most)
	}
	fmt.Fprintln(w)
}

// show prints the last rows on the terminal.
func (t *table) show(w io.Writer, last int) {
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, r := range t.rows[len(t.rows)-last:] {
		fmt.Fprintln(tw, "  "+strings.Join(r.cells(), "\t"))
	}
	tw.Flush()
}
