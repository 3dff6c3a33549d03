package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/scripts/picture"
)

// drawnRows lists the rows of table "link" that the picture shows, with their colours.
var drawnRows = []struct {
	name        string
	after       string // name of the previous row; "" if only one row has this name
	title, unit string
	scale       float64
}{
	{"one TCP flow, Gbit/s", "", "One TCP flow", "Gbit/s, more is better", 1},
	{"eight TCP flows, Gbit/s", "", "Eight TCP flows", "Gbit/s, more is better", 1},
	{"64-byte UDP without loss, 1,000 packets/s", "", "64-byte UDP without loss", "1,000 packets/s, more is better", 1},
	{"… processor s per GB, whole machine", "", "Processor time, one flow", "CPU s per GB, both ends, less is better", 1},
	{"… p99", "64-byte requests, idle, p50, us", "64-byte requests, idle, p99", "us, less is better", 1},
	{"… p99", "… beside a bulk flow, p50, us", "64-byte requests beside a bulk flow, p99", "ms, less is better", 1e-3},
}

// linkPicture returns the figure for one link without a rate limit.
func linkPicture(t *table) (picture.Figure, error) {
	p := picture.Figure{Subtitle: fmt.Sprintf("Median and range; both ends on one machine, MTU-sized packets on a veth; %s", t.Date)}
	for _, d := range drawnRows {
		row := slices.IndexFunc(t.Rows, func(r []string) bool { return r[0] == cmp.Or(d.after, d.name) })
		if d.after != "" && row >= 0 {
			row++
		}
		if row < 0 || row >= len(t.Rows) || t.Rows[row][0] != d.name {
			return p, fmt.Errorf("the table has no row %q after %q", d.name, d.after)
		}
		v := picture.Panel{Title: d.title, Unit: d.unit}
		for i, cell := range t.Rows[row][1:] {
			b := picture.Bar{Name: t.Head[i+1], Tone: picture.Other}
			if b.Name == "srdtun" {
				b.Tone = picture.Own
			}
			if _, err := fmt.Sscanf(strings.ReplaceAll(cell, "..", " "), "%g [%g %g]", &b.Value, &b.Low, &b.High); err != nil {
				return p, fmt.Errorf("%s, %s: %q: %w", d.name, b.Name, cell, err)
			}
			b.Value, b.Low, b.High = b.Value*d.scale, b.Low*d.scale, b.High*d.scale
			v.Bars = append(v.Bars, b)
		}
		p.Panels = append(p.Panels, v)
	}
	first := p.Panels[0].Bars
	others, own := first[:len(first)-1], first[len(first)-1]
	best := slices.MaxFunc(others, func(a, b picture.Bar) int { return cmp.Compare(a.Value, b.Value) })
	// The title shows the ratio of two medians. The document shows the median of the ratios within
	// rounds, so the two numbers differ.
	p.Title = fmt.Sprintf("One flow over one fast link: %.1f times the rate of %s", own.Value/best.Value, best.Name)
	return p, nil
}
