package main

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// tones lists the colours of bars. The colours differ in brightness as well, for readers and
// printers without colour.
var tones = []color.RGBA{
	palette[0],
	{0x9a, 0xa5, 0xb1, 0xff},
	{0xd5, 0xd9, 0xde, 0xff},
}

// These constants bound a figure of panels, so that it is legible at the width of a page.
const (
	maxPanels = 12
	maxBars   = 16
	columns   = 2
)

func (p Panel) check() error {
	if len(p.Bars) == 0 || len(p.Bars) > maxBars {
		return fmt.Errorf("panel %q has %d bars, want 1 to %d", p.Title, len(p.Bars), maxBars)
	}
	for _, b := range p.Bars {
		if !(0 <= b.Low && b.Low <= b.Value && b.Value <= b.High) || math.IsInf(b.High, 0) {
			return fmt.Errorf("bar %q of panel %q: want 0 <= low <= value <= high", b.Name, p.Title)
		}
		if b.Tone < 0 || int(b.Tone) >= len(tones) {
			return fmt.Errorf("bar %q of panel %q: tone %d, want 0 to %d", b.Name, p.Title, b.Tone, len(tones)-1)
		}
	}
	return nil
}

// These constants are sizes in a figure of panels.
const (
	barPitch    = vg.Length(17) // distance from one bar to the next
	barHeight   = vg.Length(11)
	panelHead   = vg.Length(40) // height of title and unit
	panelFoot   = vg.Length(16)
	panelGap    = vg.Length(26) // distance between columns
	margin      = vg.Length(16)
	headHeight  = vg.Length(56) // height of the figure's title and subtitle
	nameGap     = vg.Length(6)
	whiskerHalf = vg.Length(3)
)

// panelRows returns the height of each row of panels, and the total height.
func (f Figure) panelRows() (heights []vg.Length, total vg.Length) {
	heights = make([]vg.Length, (len(f.Panels)+columns-1)/columns)
	for i, p := range f.Panels {
		heights[i/columns] = max(heights[i/columns], panelHead+panelFoot+vg.Length(len(p.Bars))*barPitch)
	}
	total = headHeight
	for _, h := range heights {
		total += h
	}
	return heights, total
}

// drawPanels draws the panels in two columns.
func (f Figure) drawPanels(area draw.Canvas) {
	heights, _ := f.panelRows()
	f.heading(area)
	wide := (area.Max.X - area.Min.X - 2*margin - (columns-1)*panelGap) / columns
	top := area.Max.Y - headHeight
	for i, p := range f.Panels {
		left := area.Min.X + margin + vg.Length(i%columns)*(wide+panelGap)
		Panel(p).draw(area, left, left+wide, top)
		if i%columns == columns-1 {
			top -= heights[i/columns]
		}
	}
}

// draw draws the panel below the coordinate `top`, between `left` and `right`.
func (p Panel) draw(c draw.Canvas, left, right, top vg.Length) {
	title := style(ink, 11.5, text.XLeft, text.YTop)
	title.Font.Weight = stdfont.WeightBold
	c.FillText(title, vg.Point{X: left, Y: top}, p.Title)
	c.FillText(style(faint, 9.5, text.XLeft, text.YTop), vg.Point{X: left, Y: top - 17}, p.Unit)
	names, values := style(ink, 9.5, text.XRight, text.YCenter), style(ink, 9.5, text.XRight, text.YCenter)
	values.Font.Weight = stdfont.WeightBold
	nameWide, valueWide, most := vg.Length(0), vg.Length(0), 0.0
	for _, b := range p.Bars {
		nameWide, valueWide = max(nameWide, names.Width(b.Name)), max(valueWide, values.Width(p.number(b.Value)))
		most = max(most, b.High)
	}
	// Values are in a separate column, because a value directly after a bar's range would look like
	// the end of the range.
	zero := left + nameWide + valueWide + 2*nameGap
	scale := (right - zero) / vg.Length(max(most, math.SmallestNonzeroFloat32))
	y := top - panelHead - barPitch/2
	for _, b := range p.Bars {
		at := func(v float64) vg.Length { return zero + vg.Length(v)*scale }
		c.FillText(names, vg.Point{X: left + nameWide, Y: y + 1}, b.Name)
		c.FillPolygon(tones[b.Tone], []vg.Point{
			{X: zero, Y: y - barHeight/2}, {X: at(b.Value), Y: y - barHeight/2}, {X: at(b.Value), Y: y + barHeight/2}, {X: zero, Y: y + barHeight/2},
		})
		if b.Low < b.High {
			drawRange(c, at(b.Low), at(b.High), y)
		}
		c.FillText(values, vg.Point{X: zero - nameGap, Y: y + 1}, p.number(b.Value))
		y -= barPitch
	}
	c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.8}, zero, top-panelHead, zero, y+barPitch/2)
}

// drawRange draws a range as a line with a short bar at each end.
func drawRange(c draw.Canvas, low, high, y vg.Length) {
	line := draw.LineStyle{Color: ink, Width: 0.9}
	c.StrokeLine2(line, low, y, high, y)
	c.StrokeLine2(line, low, y-whiskerHalf, low, y+whiskerHalf)
	c.StrokeLine2(line, high, y-whiskerHalf, high, y+whiskerHalf)
}

// number formats a value with that number of decimals with which the panel's largest value has
// three digits.
func (p Panel) number(v float64) string {
	most := 0.0
	for _, b := range p.Bars {
		most = max(most, b.Value)
	}
	decimals := 0
	for most > 0 && most < 100 && decimals < 2 {
		most *= 10
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
