package main

import (
	"fmt"
	"slices"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/scripts/picture"
)

// mostLines is the number of colours that srdplot has for lines.
const mostLines = 6

// figure is a picture and the name of its file.
type figure struct {
	picture.Figure
	file string
}

// figures returns all pictures of a plan. For each figure name, they show the completion times and
// the goodput of its cases, and the longest completion times as a function of X.
func (p *planResults) figures() (v []*figure) {
	var names []string
	for _, c := range p.cases {
		if n := c.runs[0].Figure; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		of := func(what string) string {
			if n == "" {
				return slug(p.name + "." + what)
			}
			return slug(p.name + "." + what + "." + n)
		}
		times := &figure{file: of("fct"), Figure: picture.Figure{Title: p.title, Subtitle: "completion times " + n, X: "microseconds", Y: "share of the flows", XLog: true, YMax: 1.02}}
		rates := &figure{file: of("goodput"), Figure: picture.Figure{Title: p.title, Subtitle: "goodput of the fastest and the slowest flow " + n, X: "milliseconds", Y: "Gbit/s"}}
		for _, c := range p.cases {
			if c.runs[0].Figure == n && p.drawn(c) {
				times.add(picture.Line{Name: c.name, Points: distribution(c.runs)})
				rates.addSamples(c)
			}
		}
		v = append(v, times, rates)
	}
	v = append(v, p.longest())
	return slices.DeleteFunc(v, func(f *figure) bool { return len(f.Lines) == 0 })
}

// drawn reports whether the picture shows the distribution of a case for this host model.
// Distributions are drawn only for the first host model.
func (p *planResults) drawn(c *caseResults) bool {
	i := slices.IndexFunc(p.cases, func(x *caseResults) bool { return x.name == c.name })
	return p.cases[i] == c
}

// add adds a line to the picture if the line can be drawn and a colour is left.
func (f *figure) add(l picture.Line) {
	if len(l.Points) > 1 && len(f.Lines) < mostLines {
		f.Lines = append(f.Lines, l)
	}
}

// distribution returns the steps of the cumulative distribution of completion
// times.
func distribution(runs []*lab.Result) (points [][2]float64) {
	var v []float64
	for _, r := range runs {
		for _, f := range r.Flows {
			if f.FCT > 0 && (r.Group == "" || f.Group == r.Group) {
				v = append(v, f.FCT)
			}
		}
	}
	slices.Sort(v)
	for i, x := range v {
		points = append(points, [2]float64{x, float64(i) / float64(len(v))}, [2]float64{x, float64(i+1) / float64(len(v))})
	}
	return points
}

// addSamples adds the goodput of the fastest and of the slowest endless flow in a case's first run.
func (f *figure) addSamples(c *caseResults) {
	r := c.runs[0]
	fast, slow := -1, -1
	for i, x := range r.Flows {
		if x.Size > 0 || len(r.Samples) == 0 {
			continue
		}
		if fast < 0 || x.Delivered > r.Flows[fast].Delivered {
			fast = i
		}
		if slow < 0 || x.Delivered < r.Flows[slow].Delivered {
			slow = i
		}
	}
	for _, i := range []int{fast, slow} {
		if i < 0 || i == slow && fast == slow {
			continue
		}
		l := picture.Line{Name: fmt.Sprintf("%s, flow %d", c.name, i)}
		for k, row := range r.Samples {
			l.Points = append(l.Points, [2]float64{float64(k+1) * r.Sample / 1e3, float64(row[i]) * 8 / r.Sample * 1e-3})
		}
		f.add(l)
	}
}

// line returns the name of the line on which the case is a point, or "". Each host model after the
// first has its own line in the figure.
func (p *planResults) line(c *caseResults) string {
	n := c.runs[0].Line
	if n != "" && !p.drawn(c) {
		n += ", " + c.host
	}
	return n
}

// longest draws the longest completion times, as multiples of the ideal, for the cases that name a
// line.
func (p *planResults) longest() *figure {
	f := &figure{file: slug(p.name + ".longest"), Figure: picture.Figure{Title: p.title, Subtitle: "longest completion time", X: "bytes", Y: "multiple of the ideal", XLog: true, YLog: true}}
	var names []string
	for _, c := range p.cases {
		if n := p.line(c); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		l := picture.Line{Name: n}
		for _, c := range p.cases {
			if r := c.runs[0]; p.line(c) == n {
				s := lab.Summarize(c.runs, r.Group, r.Skip)
				l.Points = append(l.Points, [2]float64{r.X, s.MaxRatio})
			}
		}
		slices.SortFunc(l.Points, func(a, b [2]float64) int {
			if a[0] < b[0] {
				return -1
			}
			return 1
		})
		f.add(l)
	}
	return f
}
