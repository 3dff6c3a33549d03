package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// picture is srdplot's input for panels of bars.
type picture struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	Panels   []panel `json:"panels"`
}

type panel struct {
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Bars  []bar  `json:"bars"`
}

type bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Tone  int     `json:"tone"` // 0: what the picture is about; 1: others
}

// drawnRows are the rows of the table "link" that are drawn, and how.
var drawnRows = []struct {
	name        string
	after       string // the row before; empty: name is only one row's
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

// linkPicture makes the picture of the table of one link without a limit.
func linkPicture(t *table) (picture, error) {
	p := picture{Subtitle: fmt.Sprintf("Median and range; both ends on one machine, MTU-sized packets on a veth; %s", t.Date)}
	for _, d := range drawnRows {
		row := slices.IndexFunc(t.Rows, func(r []string) bool { return r[0] == cmp.Or(d.after, d.name) })
		if d.after != "" && row >= 0 {
			row++
		}
		if row < 0 || row >= len(t.Rows) || t.Rows[row][0] != d.name {
			return p, fmt.Errorf("the table has no row %q after %q", d.name, d.after)
		}
		v := panel{Title: d.title, Unit: d.unit}
		for i, cell := range t.Rows[row][1:] {
			b := bar{Name: t.Head[i+1], Tone: 1}
			if b.Name == "srdtun" {
				b.Tone = 0
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
	best := slices.MaxFunc(others, func(a, b bar) int { return cmp.Compare(a.Value, b.Value) })
	// The ratio within rounds, which the document gives, is another than that of the medians.
	p.Title = fmt.Sprintf("One flow over one fast link: %.1f times the rate of %s", own.Value/best.Value, best.Name)
	return p, nil
}

// draw has srdplot draw the picture into a file.
func (p picture) draw(plot, file string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	cmd := exec.Command(plot, "-o", file)
	cmd.Stdin = bytes.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", plot, err, strings.TrimSpace(string(said)))
	}
	return nil
}
