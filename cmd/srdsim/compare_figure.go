package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"github.com/srdtun/srdtun/sim/compare"
)

// panel and panelBar are srdplot's.
type panel struct {
	Title string     `json:"title"`
	Unit  string     `json:"unit"`
	Bars  []panelBar `json:"bars"`
}

type panelBar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Tone  int     `json:"tone"`
}

// mostPanels is what srdplot draws in one figure.
const mostPanels = 12

// draw draws a panel for each scenario and workload: mean completion times over the
// best's, the geometric mean over all loads, and the range.
func (o *compareOptions) draw(all []*compare.Group, what, name string) error {
	plot, err := findPlot(o.plot)
	if err != nil {
		return err
	}
	var panels []panel
	for _, b := range compare.Bars(all) {
		p := panel{Title: fmt.Sprintf("%s, %s", b.Scenario, b.Workload), Unit: "mean completion time / the best's; line: all loads"}
		for i, n := range b.Systems {
			x := panelBar{Name: n, Value: b.Middle[i], Low: b.Low[i], High: b.High[i], Tone: tone(n)}
			// A system whose flows did not end would leave no room for the others.
			if x.High = math.Min(x.High, panelCut); x.Value > x.High {
				x.Value, x.Name = panelCut, n+" >"
			}
			x.Low = math.Min(x.Low, x.Value)
			p.Bars = append(p.Bars, x)
		}
		panels = append(panels, p)
	}
	for k := 0; k*mostPanels < len(panels); k++ {
		part := panels[k*mostPanels : min(len(panels), (k+1)*mostPanels)]
		file := filepath.Join(o.dir, name)
		if k > 0 {
			file = filepath.Join(o.dir, fmt.Sprint(k+1, "-", name))
		}
		b, err := json.Marshal(map[string]any{"title": "Path policies, TCP and MPTCP", "subtitle": what, "panels": part})
		if err != nil {
			return err
		}
		if err := plotTo(plot, file, b); err != nil {
			return err
		}
		fmt.Fprintln(o.out, file)
	}
	return nil
}

// panelCut is the longest bar: what is longer is so by waiting for timeouts, and only
// that is of interest.
const panelCut = 10

// tone tells this project's default, its other policies, and what is without it.
func tone(system string) int {
	switch system {
	case "spray":
		return 0
	case "tcp", "mptcp":
		return 2
	}
	return 1
}
