package apps

import (
	"fmt"
	"os"
	"strings"

	"github.com/srdtun/srdtun/bench/markdown"
	"github.com/srdtun/srdtun/scripts/picture"
)

// rows lists the rows of the results table, by application.
var rows = []struct{ app, name, title string }{
	{"postgres", "longest_p50_ms", "PostgreSQL: the longest commit at a spine's death, p50, ms"},
	{"postgres", "longest_p99_ms", "… p99"},
	{"postgres", "calm_p50_ms", "… in a second without one, p50"},
	{"postgres", "failed", "… failed transactions"},
	{"postgres", "deaths", "… deaths"},
	{"postgres", "basebackup_mbit", "… pg_basebackup, Mbit/s"},
	{"etcd", "longest_p50_ms", "etcd: the longest write at a spine's death, p50, ms"},
	{"etcd", "longest_p99_ms", "… p99"},
	{"etcd", "elections", "… elections"},
	{"etcd", "deaths", "… deaths"},
	{"ring", "slowest_over_mean", "ring of four, 16 sockets each: the slowest over the mean"},
	{"ring", "step_p50_over_ideal", "… a step over its ideal, p50"},
	{"ring", "step_p99_over_ideal", "… p99"},
	{"mpi", "2m_p50_over_ideal", "Open MPI, 48 ranks to one, 2 MB each: a flow over its ideal, p50"},
	{"mpi", "2m_p99_over_ideal", "… p99"},
	{"mpi", "2m_max_over_ideal", "… most"},
	{"mpi", "2m_used", "… share of the processors that all of it takes"},
	{"mpi", "2m_idle", "… share that is idle"},
	{"mpi", "64k_p50_over_ideal", "… 64 KB each: a flow over its ideal, p50"},
	{"mpi", "64k_p99_over_ideal", "… p99"},
	{"mpi", "64k_max_over_ideal", "… most"},
	{"mpi", "64k_used", "… share of the processors that all of it takes"},
	{"mpi", "64k_idle", "… share that is idle"},
}

// report writes the results as a table and a picture.
func (r *run) report() error {
	var b strings.Builder
	head, rows := r.table()
	markdown.Table(&b, head, rows)
	fmt.Printf("\n%s\n", b.String())
	if err := os.WriteFile(r.out+".md", []byte(b.String()), 0o644); err != nil {
		return err
	}
	return r.draw()
}

// table returns a column for each transport, and a row for each metric that has a value.
func (r *run) table() (head []string, table [][]string) {
	head = []string{""}
	for _, k := range kinds {
		head = append(head, k.title)
	}
	for _, row := range rows {
		line, any := []string{row.title}, false
		for _, k := range kinds {
			cell := "–"
			if v, ok := r.get(row.app, k.name, row.name); ok {
				cell, any = digits(v), true
			}
			line = append(line, cell)
		}
		if any {
			table = append(table, line)
		}
	}
	return head, table
}

func (r *run) get(app, kind, name string) (float64, bool) {
	for _, rec := range r.all {
		for _, v := range rec.Values {
			if rec.App == app && rec.Kind == kind && v.Name == name {
				return v.Value, true
			}
		}
	}
	return 0, false
}

// digits formats a number with three significant digits, and a count in full.
func digits(v float64) string {
	switch {
	case v == float64(int64(v)), v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// figure returns the picture. It shows, for each transport, the distribution of the longest
// response times during the failures.
func (r *run) figure() picture.Figure {
	f := picture.Figure{
		Title:    "PostgreSQL's longest commit as a spine dies",
		Subtitle: fmt.Sprintf("%d spines of %d Mbit/s; the busiest drops everything for %v", spines, rateMbit, dead),
		X:        "Longest commit (ms)", Y: "Share of deaths (%)", YMax: 100, XLog: true,
	}
	// srdtun is the last transport in the list, but it is drawn first, so that it gets the first
	// colour.
	for i := len(kinds) - 1; i >= 0; i-- {
		for _, rec := range r.all {
			if rec.App != postgres.name || rec.Kind != kinds[i].name || len(rec.Worst) == 0 {
				continue
			}
			l := picture.Line{Name: kinds[i].title}
			for n, v := range rec.Worst {
				l.Points = append(l.Points, [2]float64{max(v, 0.1), 100 * float64(n+1) / float64(len(rec.Worst))})
			}
			f.Lines = append(f.Lines, l)
		}
	}
	return f
}

// draw writes the picture if any value can be drawn.
func (r *run) draw() error {
	f := r.figure()
	if r.plot == "" || len(f.Lines) == 0 {
		return nil
	}
	return picture.Draw(r.plot, r.out+".png", f)
}
