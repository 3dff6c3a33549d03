package main

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/srdtun/srdtun/scripts/picture"
)

// These constants control the placement of labels. All sizes are in points.
const (
	placeStep  = 2
	placeClear = 3
	lineClear  = 5 // margin of a line, which is 1.9 wide; with less, a label seems to touch a spike
	hidesCost  = 200
	asideCost  = 0.5 // cost of a step to the side, relative to a step up or down
)

// label is a text with its preferred position.
type label struct {
	text string
	st   text.Style
	want vg.Point // preferred position of its lower left corner
	// ups and asides are the largest allowed moves, vertically and horizontally.
	ups, asides [2]vg.Length
}

// placed is a label with its final position.
type placed struct {
	label
	at  vg.Point
	box vg.Rectangle
}

// labels returns all texts between a figure's lines. Those that can be moved least come first.
func (f Figure) labels(area vg.Rectangle, x, y func(float64) vg.Length, yMax float64) (v []label) {
	width, height := area.Size().X, area.Size().Y
	add := func(s string, st text.Style, at vg.Point, ups, asides [2]vg.Length) {
		if s != "" {
			v = append(v, label{s, st, at, ups, asides})
		}
	}
	for _, s := range f.Spans {
		st := style(faint, 10, text.XLeft, text.YBottom)
		left := x((s.From+s.To)/2) - st.Width(s.Caption)/2
		add(s.Caption, st, vg.Point{X: left, Y: y(yMax*0.975) - st.Height(s.Caption)}, [2]vg.Length{height, 0}, [2]vg.Length{width, width})
	}
	for _, m := range f.Marks {
		st := style(faint, 9.5, text.XLeft, text.YBottom)
		right := area.Max.X - width*0.008
		add(m.Caption, st, vg.Point{X: right - st.Width(m.Caption), Y: y(m.Y) + lineClear + 0.5}, [2]vg.Length{height / 6, height / 6}, [2]vg.Length{width, 0})
	}
	for _, words := range []func(picture.Line) (string, [2]float64){
		func(l picture.Line) (string, [2]float64) { return l.Note, l.NoteAt },
		func(l picture.Line) (string, [2]float64) { return l.Label, l.LabelAt },
	} {
		for i, l := range f.Lines {
			if s, at := words(l); s != "" { // without a text, the position may be 0, which is not on a logarithmic axis
				add(s, style(palette[i], 11, text.XLeft, text.YBottom), vg.Point{X: x(at[0]), Y: y(at[1]) + lineClear + 0.5}, [2]vg.Length{height, height}, [2]vg.Length{width, width})
			}
		}
	}
	return v
}

// place chooses the cheapest position for each label. The cost of a position is its distance from
// the preferred position plus the pieces of lines that the label hides. A label must lie within the
// area and must not touch a previously placed label. A label without such a position is left out,
// because the legend also names the line.
func place(labels []label, area vg.Rectangle, lines [][]vg.Point) (v []placed) {
	for _, l := range labels {
		best, cost := placed{}, math.Inf(1)
		size := l.st.Rectangle(l.text)
		for _, p := range l.spots() {
			if p.far >= cost {
				break // the candidates are sorted by distance
			}
			box := size.Add(p.at)
			if !within(box, area) || meets(box, v) {
				continue
			}
			if c := p.far + hidesCost*float64(hidden(box, lines)); c < cost {
				best, cost = placed{l, p.at, box}, c
			}
		}
		if !math.IsInf(cost, 1) {
			v = append(v, best)
		}
	}
	return v
}

// spot is a candidate position of a label, with the cost of its distance from the preferred
// position.
type spot struct {
	at  vg.Point
	far float64
}

// spots returns all candidate positions of a label, beginning with the nearest.
func (l label) spots() (v []spot) {
	const aside = 5 * placeStep
	for up := math.Ceil(-float64(l.ups[0]) / placeStep); up <= float64(l.ups[1])/placeStep; up++ {
		for left := math.Ceil(-float64(l.asides[0]) / aside); left <= float64(l.asides[1])/aside; left++ {
			at := vg.Point{X: l.want.X + vg.Length(left*aside), Y: l.want.Y + vg.Length(up*placeStep)}
			v = append(v, spot{at, math.Hypot(asideCost*left*aside, up*placeStep)})
		}
	}
	slices.SortFunc(v, func(a, b spot) int { return cmp.Compare(a.far, b.far) })
	return v
}

func within(box, area vg.Rectangle) bool {
	return box.Min.X >= area.Min.X && box.Max.X <= area.Max.X && box.Min.Y >= area.Min.Y && box.Max.Y <= area.Max.Y
}

// meets reports whether a box touches a placed label.
func meets(box vg.Rectangle, others []placed) bool {
	for _, o := range others {
		if box.Min.X < o.box.Max.X+placeClear && o.box.Min.X < box.Max.X+placeClear &&
			box.Min.Y < o.box.Max.Y+placeClear && o.box.Min.Y < box.Max.Y+placeClear {
			return true
		}
	}
	return false
}

// hidden counts the pieces of lines that a box covers or touches.
func hidden(box vg.Rectangle, lines [][]vg.Point) (n int) {
	margin := vg.Point{X: lineClear, Y: lineClear}
	box.Min, box.Max = box.Min.Sub(margin), box.Max.Add(margin)
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			if max(a.X, b.X) >= box.Min.X && min(a.X, b.X) <= box.Max.X && max(a.Y, b.Y) >= box.Min.Y && min(a.Y, b.Y) <= box.Max.Y {
				n++
			}
		}
	}
	return n
}

// onCanvas returns the lines of a figure, including marks, in canvas coordinates.
func (f Figure) onCanvas(area vg.Rectangle, x, y func(float64) vg.Length) (v [][]vg.Point) {
	for _, m := range f.Marks {
		v = append(v, []vg.Point{{X: area.Min.X, Y: y(m.Y)}, {X: area.Max.X, Y: y(m.Y)}})
	}
	for _, l := range f.Lines {
		var line []vg.Point
		for _, p := range l.Points {
			line = append(line, vg.Point{X: x(p[0]), Y: y(p[1])})
		}
		v = append(v, line)
	}
	return v
}

// write draws the labels on the canvas.
func write(c draw.Canvas, labels []placed) {
	for _, l := range labels {
		c.FillText(l.st, l.at, l.text)
	}
}
