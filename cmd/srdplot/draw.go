package main

import (
	"bytes"
	"errors"
	"image/color"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of the picture: 8.4 by 4.6 inches at 240 dots per inch, sharp at full
// width of a page and on a dense screen.
const (
	width  = 8.4 * vg.Inch
	height = 4.6 * vg.Inch
	dpi    = 240
)

// palette is by Okabe and Ito (2008), which colour-blind readers can tell apart;
// the first two differ in brightness as well.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
}

var (
	ink    = color.RGBA{0x26, 0x26, 0x26, 0xff}
	faint  = color.RGBA{0x6b, 0x6b, 0x6b, 0xff}
	rule   = color.RGBA{0xe2, 0xe2, 0xe2, 0xff}
	shaded = color.RGBA{0xec, 0xea, 0xe4, 0xff}
)

// sans is the typeface of everything.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// PNG draws the figure as a bitmap.
func (f Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi))
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&out)
	return out.Bytes(), err
}

// SVG draws the figure as vectors, on white.
func (f Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.size())
	c.SetColor(color.White)
	w, h := f.size()
	c.Fill(vg.Rectangle{Max: vg.Point{X: w, Y: h}}.Path())
	if err := f.draw(c); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := c.WriteTo(&out)
	return out.Bytes(), err
}

// size returns width and height.
func (f Figure) size() (w, h vg.Length) {
	if f.Heat != nil {
		return width, f.heatHeight()
	}
	if len(f.Panels) > 0 {
		_, h = f.panelRows()
		return width, h
	}
	return width, height
}

// draw draws the figure on a canvas.
func (f Figure) draw(c vg.CanvasSizer) error {
	if f.Heat != nil {
		f.drawHeat(draw.New(c))
		return nil
	}
	if len(f.Panels) > 0 {
		f.drawPanels(draw.New(c))
		return nil
	}
	p := plot.New()
	xMin, xMax, yMax := f.bounds()
	f.frame(p, xMin, xMax, yMax)
	for _, s := range f.Spans {
		if err := addSpan(p, s, yMax); err != nil {
			return err
		}
	}
	addGrid(p)
	for _, m := range f.Marks {
		if err := addMark(p, m, xMin, xMax); err != nil {
			return err
		}
	}
	for i, l := range f.Lines {
		if err := addLine(p, l, palette[i]); err != nil {
			return err
		}
	}
	for _, s := range f.Spans {
		if err := addText(p, (s.From+s.To)/2, yMax*0.975, s.Caption, style(faint, 10, text.XCenter, text.YTop)); err != nil {
			return err
		}
	}
	area := draw.New(c)
	f.heading(area)
	p.Draw(draw.Crop(area, 12, -18, 10, -52))
	return nil
}

// heading writes title and subtitle flush left above the plot.
func (f Figure) heading(c draw.Canvas) {
	title := style(ink, 15, text.XLeft, text.YTop)
	title.Font.Weight = stdfont.WeightBold
	c.FillText(title, vg.Point{X: c.Min.X + 16, Y: c.Max.Y - 12}, f.Title)
	c.FillText(style(faint, 10.5, text.XLeft, text.YTop), vg.Point{X: c.Min.X + 16, Y: c.Max.Y - 32}, f.Subtitle)
	f.legend(c)
}

// legend names the lines at the right end of the heading, where no data can be
// in its way.
func (f Figure) legend(c draw.Canvas) {
	const dash, gap, lineHeight, rows, between = 22, 6, 16, 2, 18
	st := style(ink, 10.5, text.XLeft, text.YCenter)
	widest := vg.Length(0)
	for _, l := range f.Lines {
		widest = max(widest, st.Width(l.Name))
	}
	// Columns of two, the last at the right.
	columns := (len(f.Lines) + rows - 1) / rows
	for i, l := range f.Lines {
		left := vg.Length(columns-1-i/rows) * (widest + dash + gap + between)
		x, y := c.Max.X-20-widest-left, c.Max.Y-20-vg.Length(i%rows)*lineHeight
		c.StrokeLine2(draw.LineStyle{Color: palette[i], Width: 2.2}, x-gap-dash, y, x-gap, y)
		c.FillText(st, vg.Point{X: x, Y: y}, l.Name)
	}
}

// frame sets the axes.
func (f Figure) frame(p *plot.Plot, xMin, xMax, yMax float64) {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xMin, xMax, 0, yMax
	p.X.Label.Text, p.Y.Label.Text = f.X, f.Y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = size(11), ink
		a.Tick.Label.Font, a.Tick.Label.Color = size(10), ink
		a.LineStyle.Color, a.Tick.LineStyle.Color = faint, faint
		a.Label.Padding = 5
	}
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(roundTicks), plot.TickerFunc(roundTicks)
	if f.YLog {
		p.Y.Min, p.Y.Scale, p.Y.Tick.Marker = f.leastY()/1.2, plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if f.XLog {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
}

func addSpan(p *plot.Plot, s Span, yMax float64) error {
	area, err := plotter.NewPolygon(plotter.XYs{{X: s.From, Y: 0}, {X: s.From, Y: yMax}, {X: s.To, Y: yMax}, {X: s.To, Y: 0}})
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = shaded, 0
	p.Add(area)
	return nil
}

func addGrid(p *plot.Plot) {
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = rule, 0.6
	p.Add(grid)
}

func addMark(p *plot.Plot, m Mark, xMin, xMax float64) error {
	line, err := plotter.NewLine(plotter.XYs{{X: xMin, Y: m.Y}, {X: xMax, Y: m.Y}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = faint, 0.8, []vg.Length{3, 3}
	p.Add(line)
	return addText(p, xMax-(xMax-xMin)*0.008, m.Y, m.Caption, style(faint, 9.5, text.XRight, text.YBottom))
}

func addLine(p *plot.Plot, l Line, c color.Color) error {
	points := make(plotter.XYs, len(l.Points))
	for i, v := range l.Points {
		points[i] = plotter.XY{X: v[0], Y: v[1]}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, 1.9
	p.Add(line)
	return errors.Join(
		addText(p, l.LabelAt[0], l.LabelAt[1], l.Label, style(c, 11, text.XLeft, text.YBottom)),
		addText(p, l.NoteAt[0], l.NoteAt[1], l.Note, style(c, 11, text.XLeft, text.YBottom)))
}

func addText(p *plot.Plot, x, y float64, s string, st text.Style) error {
	if s == "" {
		return nil
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{s}})
	if err != nil {
		return err
	}
	labels.TextStyle[0] = st
	if st.YAlign == text.YBottom {
		labels.Offset.Y = 2 // clear of the line below
	}
	p.Add(labels)
	return nil
}

func size(points float64) font.Font { return font.From(sans, vg.Points(points)) }

func style(c color.Color, points float64, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: size(points), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}
