package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/srdtun/srdtun/scripts/picture"
)

// Figure is the input of the command, and its methods draw the picture. A figure has either lines
// or panels.
type (
	Figure picture.Figure
	Panel  picture.Panel
)

// check returns an error for a figure that cannot be drawn.
func (f Figure) check() error {
	if len(f.Panels) > 0 {
		return f.checkPanels()
	}
	if len(f.Lines) == 0 || len(f.Lines) > len(palette) {
		return fmt.Errorf("%d lines, want 1 to %d", len(f.Lines), len(palette))
	}
	for _, l := range f.Lines {
		if len(l.Points) < 2 {
			return fmt.Errorf("line %q has %d points, want two or more", l.Name, len(l.Points))
		}
		for _, p := range l.Points {
			if math.IsNaN(p[0]+p[1]) || math.IsInf(p[0]+p[1], 0) {
				return fmt.Errorf("line %q has a point that is no number", l.Name)
			}
			if f.XLog && p[0] <= 0 || f.YLog && p[1] <= 0 {
				return fmt.Errorf("line %q has a point at %g, %g: 0 is not on a logarithmic axis", l.Name, p[0], p[1])
			}
		}
	}
	if f.YLog && len(f.Spans) > 0 {
		return errors.New("spans reach down to 0, which is not on a logarithmic axis")
	}
	for _, s := range f.Spans {
		if !(s.From < s.To) {
			return errors.New("a span ends before it begins")
		}
	}
	return nil
}

// checkPanels returns an error for panels that cannot be drawn as bars.
func (f Figure) checkPanels() error {
	if len(f.Lines)+len(f.Spans)+len(f.Marks) > 0 {
		return errors.New("a figure has panels or lines, not both")
	}
	if len(f.Panels) > maxPanels {
		return fmt.Errorf("%d panels, want %d at most", len(f.Panels), maxPanels)
	}
	for _, p := range f.Panels {
		if err := Panel(p).check(); err != nil {
			return err
		}
	}
	return nil
}

// leastY returns the smallest Y of all lines.
func (f Figure) leastY() float64 {
	y := math.Inf(1)
	for _, l := range f.Lines {
		for _, p := range l.Points {
			y = min(y, p[1])
		}
	}
	return y
}

// bounds returns the ranges of the axes that show all data. Both linear axes begin at zero or
// below. A logarithmic axis begins at its smallest value.
func (f Figure) bounds() (xMin, xMax, yMax float64) {
	xMax = math.Inf(-1)
	if f.XLog {
		xMin = math.Inf(1)
	}
	for _, l := range f.Lines {
		for _, p := range l.Points {
			xMin, xMax, yMax = min(xMin, p[0]), max(xMax, p[0]), max(yMax, p[1])
		}
	}
	for _, m := range f.Marks {
		yMax = max(yMax, m.Y)
	}
	if f.XLog && xMin == xMax {
		xMin, xMax = xMin/2, xMax*2
	}
	if f.YMax > 0 {
		return xMin, xMax, max(f.YMax, yMax) // the axis grows with the data, and spans must, too
	}
	yMax *= 1.2
	return xMin, xMax, yMax
}
