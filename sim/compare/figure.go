package compare

import (
	"encoding/json"
	"fmt"
)

// The figure is a file for cmd/srdplot, whose names these are.
type (
	figure struct {
		Title    string  `json:"title"`
		Subtitle string  `json:"subtitle"`
		Panels   []panel `json:"panels"`
	}
	panel struct {
		Title string `json:"title"`
		Unit  string `json:"unit"`
		Bars  []bar  `json:"bars"`
	}
	bar struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
		Low   float64 `json:"low"`
		High  float64 `json:"high"`
		Tone  int     `json:"tone"`
	}
)

const (
	// mostPanels is what srdplot draws in one figure.
	mostPanels = 12
	// longestBar: what is longer is so by waiting for timeouts, or did not end, and
	// would leave no room for the others.
	longestBar = 8
)

// Figures returns, as input of srdplot, figures with a panel for each scenario and
// workload: mean completion times over the best's, as the geometric mean over all
// loads, and their range.
func Figures(all []*Group, subtitle string) (v [][]byte) {
	var panels []panel
	for _, b := range Bars(all) {
		p := panel{Title: fmt.Sprintf("%s, %s", b.Scenario, b.Workload), Unit: "mean completion time / the best's; line: all loads"}
		for i, n := range b.Systems {
			p.Bars = append(p.Bars, newBar(n, b.Low[i], b.Middle[i], b.High[i]))
		}
		panels = append(panels, p)
	}
	for len(panels) > 0 {
		n := min(len(panels), mostPanels)
		b, err := json.Marshal(figure{"Path policies, TCP and MPTCP", subtitle, panels[:n]})
		if err != nil {
			panic(err) // nothing but numbers and names
		}
		v, panels = append(v, b), panels[n:]
	}
	return v
}

func newBar(name string, low, middle, high float64) bar {
	b := bar{name, min(middle, longestBar), min(low, longestBar), min(high, longestBar), tone(name)}
	if middle > longestBar {
		b.Name = fmt.Sprintf("%s: %.0f", name, middle)
	}
	return b
}

// tone tells this project's default, other policies, and what goes without a tunnel.
func tone(system string) int {
	switch system {
	case "spray":
		return 0
	case "tcp", "mptcp":
		return 2
	}
	return 1
}
