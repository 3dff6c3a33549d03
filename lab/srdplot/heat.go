package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"strconv"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bounds of a table that is still legible at the width of a page.
const (
	maxHeatRows    = 24
	maxHeatColumns = 12
)

func (h Heat) check() error {
	if len(h.Rows) == 0 || len(h.Rows) > maxHeatRows || len(h.Cells) != len(h.Rows) {
		return fmt.Errorf("%d rows and %d lists of cells, want 1 to %d of each", len(h.Rows), len(h.Cells), maxHeatRows)
	}
	if len(h.Columns) == 0 || len(h.Columns) > maxHeatColumns {
		return fmt.Errorf("%d columns, want 1 to %d", len(h.Columns), maxHeatColumns)
	}
	for i, row := range h.Cells {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %q has %d cells of %d", h.Rows[i], len(row), len(h.Columns))
		}
		for _, v := range row {
			if v != 0 && !(v >= 1 && !math.IsInf(v, 0)) {
				return fmt.Errorf("row %q has %g, want 1 or more", h.Rows[i], v)
			}
		}
	}
	return nil
}

// checkHeat refuses a figure that cannot be drawn as one table.
func (f Figure) checkHeat() error {
	if len(f.Lines)+len(f.Spans)+len(f.Marks)+len(f.Panels) > 0 {
		return errors.New("a figure has a table, or something else, not both")
	}
	return (*Heat)(f.Heat).check()
}

// Sizes of a table.
const (
	heatRow   = vg.Length(24)
	heatHead  = vg.Length(50) // names of columns, in two lines, and of groups
	heatGap   = vg.Length(10) // between groups
	heatFoot  = vg.Length(16)
	heatInset = vg.Length(0.8) // between cells
)

func (f Figure) heatHeight() vg.Length {
	return headHeight + heatHead + heatFoot + vg.Length(len(f.Heat.Rows))*heatRow
}

// heatFull is the ratio of the darkest cell: a flow above it waits for timeouts, or forever.
const heatFull = 8

var (
	heatPale = color.RGBA{0xf1, 0xf4, 0xf7, 0xff}
	heatDark = color.RGBA{0x8a, 0x2c, 0x0d, 0xff}
)

// heatColour returns the colours of a cell and of its text.
func heatColour(v float64) (cell, on color.RGBA) {
	share := min(1, math.Log(v)/math.Log(heatFull))
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + share*(float64(b)-float64(a)) + 0.5) }
	cell = color.RGBA{mix(heatPale.R, heatDark.R), mix(heatPale.G, heatDark.G), mix(heatPale.B, heatDark.B), 0xff}
	if share > 0.45 {
		return cell, color.RGBA{0xff, 0xff, 0xff, 0xff}
	}
	return cell, ink
}

// drawHeat draws the table: names of rows at the left, of columns above.
func (f Figure) drawHeat(c draw.Canvas) {
	f.heading(c)
	h := (*Heat)(f.Heat)
	rowStyle := style(ink, 10.5, text.XRight, text.YCenter)
	nameWide, gaps := vg.Length(0), 0
	for _, n := range h.Rows {
		nameWide = max(nameWide, rowStyle.Width(n))
	}
	for k := range h.Columns[1:] {
		if h.Columns[k].Group != h.Columns[k+1].Group {
			gaps++
		}
	}
	left := c.Min.X + margin + nameWide + nameGap
	wide := (c.Max.X - margin - left - vg.Length(gaps)*heatGap) / vg.Length(len(h.Columns))
	top := c.Max.Y - headHeight - heatHead
	for i, n := range h.Rows {
		st := rowStyle
		if i == 0 {
			st.Font.Weight = stdfont.WeightBold
		}
		c.FillText(st, vg.Point{X: left - nameGap, Y: top - (vg.Length(i)+0.5)*heatRow + 1}, n)
	}
	x := left
	for k, col := range h.Columns {
		if k > 0 && h.Columns[k-1].Group != col.Group {
			x += heatGap
		}
		if k == 0 || h.Columns[k-1].Group != col.Group {
			group := style(ink, 11.5, text.XLeft, text.YTop)
			group.Font.Weight = stdfont.WeightBold
			c.FillText(group, vg.Point{X: x, Y: top + heatHead}, col.Group)
		}
		heatNames(c, x, x+wide, top, col.Name)
		for i := range h.Rows {
			y := top - vg.Length(i)*heatRow
			heatCell(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - heatRow}, Max: vg.Point{X: x + wide, Y: y}}, h.Cells[i][k])
		}
		x += wide
	}
}

// heatNames writes a column's name above it, in two lines where it has several words.
func heatNames(c draw.Canvas, left, right, bottom vg.Length, name string) {
	st := style(faint, 9.5, text.XCenter, text.YBottom)
	lines := []string{name}
	if st.Width(name) > right-left-2 {
		lines = halves(name)
	}
	for i, l := range lines {
		c.FillText(st, vg.Point{X: (left + right) / 2, Y: bottom + 5 + vg.Length(len(lines)-1-i)*11.5}, l)
	}
}

// halves cuts a name at the blank nearest to its middle.
func halves(name string) []string {
	at := -1
	for i, r := range name {
		if r == ' ' && (at < 0 || math.Abs(float64(2*i-len(name))) < math.Abs(float64(2*at-len(name)))) {
			at = i
		}
	}
	if at < 0 {
		return []string{name}
	}
	return []string{name[:at], name[at+1:]}
}

func heatCell(c draw.Canvas, r vg.Rectangle, v float64) {
	middle := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y+r.Max.Y)/2 + 1}
	if v == 0 {
		c.FillText(style(faint, 10, text.XCenter, text.YCenter), middle, "–")
		return
	}
	cell, on := heatColour(v)
	c.FillPolygon(cell, []vg.Point{
		{X: r.Min.X + heatInset, Y: r.Min.Y + heatInset}, {X: r.Max.X - heatInset, Y: r.Min.Y + heatInset},
		{X: r.Max.X - heatInset, Y: r.Max.Y - heatInset}, {X: r.Min.X + heatInset, Y: r.Max.Y - heatInset},
	})
	digits := 2
	if v >= 9.995 {
		digits = 0
	}
	c.FillText(style(on, 10, text.XCenter, text.YCenter), middle, strconv.FormatFloat(v, 'f', digits, 64))
}
