package main

import (
	"bytes"
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

	"github.com/srdtun/srdtun/scripts/picture"
)

// The picture has 8.4 by 4.6 inches, with 240 dots per inch. With this resolution it is sharp at
// full page width and on a high-density screen.
const (
	width  = 8.4 * vg.Inch
	height = 4.6 * vg.Inch
	dpi    = 240
)

// palette has the colours of Okabe and Ito (2008). Colour-blind readers can distinguish them. The
// first two also differ in brightness.
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

// sans is the typeface of all texts.
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
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:"+svgFont), []byte("font-family:"+svgFont+svgFonts)), err
}

// A viewer of the picture may lack the typeface Liberation Sans. Arial and Helvetica have the same
// widths.
const svgFont, svgFonts = "Liberation Sans", ",Arial,Helvetica,sans-serif"

// size returns the width and the height of the picture.
func (f Figure) size() (w, h vg.Length) {
	if len(f.Panels) > 0 {
		_, h = f.panelRows()
		return width, h
	}
	return width, height
}

// draw draws the figure on a canvas.
func (f Figure) draw(c vg.CanvasSizer) error {
	if len(f.Panels) > 0 {
		f.drawPanels(draw.New(c))
		return nil
	}
	area := draw.New(c)
	f.heading(area)
	p, err := f.plot()
	if err != nil {
		return err
	}
	inner := draw.Crop(area, 12, -18, 10, -52)
	p.Draw(inner)
	write(area, f.layout(p, inner))
	return nil
}

// plot returns the figure's plot without texts.
func (f Figure) plot() (*plot.Plot, error) {
	p := plot.New()
	xMin, xMax, yMax := f.bounds()
	f.frame(p, xMin, xMax, yMax)
	for _, s := range f.Spans {
		if err := addSpan(p, s, yMax); err != nil {
			return nil, err
		}
	}
	addGrid(p)
	for _, m := range f.Marks {
		if err := addMark(p, m, xMin, xMax); err != nil {
			return nil, err
		}
	}
	for i, l := range f.Lines {
		if err := addLine(p, l, palette[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// layout determines the positions of the texts between the lines.
func (f Figure) layout(p *plot.Plot, c draw.Canvas) []placed {
	data := p.DataCanvas(c)
	x, y := p.Transforms(&data)
	return place(f.labels(data.Rectangle, x, y, p.Y.Max), data.Rectangle, f.onCanvas(data.Rectangle, x, y))
}

// heading writes the title and subtitle flush left above the plot. The legend is at the right end,
// where it hides no data.
func (f Figure) heading(c draw.Canvas) {
	names, dashes := f.legend(c)
	write(c, append(f.titles(c, names), names...))
	for i, at := range dashes {
		c.StrokeLine2(draw.LineStyle{Color: palette[i], Width: 2.2}, at.X, at.Y, at.X+legendDash, at.Y)
	}
}

// titles returns the title and subtitle, in a font small enough to leave space for the legend.
func (f Figure) titles(c draw.Canvas, names []placed) (v []placed) {
	const left, least = 16, 6
	right := c.Max.X - left
	for _, n := range names {
		right = min(right, n.box.Min.X-legendGap-legendDash-legendBetween)
	}
	title := style(ink, 15, text.XLeft, text.YTop)
	title.Font.Weight = stdfont.WeightBold
	for i, l := range []label{{text: f.Title, st: title}, {text: f.Subtitle, st: style(faint, 10.5, text.XLeft, text.YTop)}} {
		for l.st.Width(l.text) > right-c.Min.X-left && l.st.Font.Size > least {
			l.st.Font.Size -= 0.25
		}
		at := vg.Point{X: c.Min.X + left, Y: c.Max.Y - 12 - vg.Length(20*i)}
		v = append(v, placed{l, at, l.st.Rectangle(l.text).Add(at)})
	}
	return v
}

// These constants are sizes of the legend, in points.
const legendDash, legendGap, legendBetween = 22, 6, 18

// legend returns the positioned names of the lines, and the position of the dash in front of each
// name.
func (f Figure) legend(c draw.Canvas) (names []placed, dashes []vg.Point) {
	const lineHeight, rows = 16, 2
	st := style(ink, 10.5, text.XLeft, text.YCenter)
	widest := vg.Length(0)
	for _, l := range f.Lines {
		widest = max(widest, st.Width(l.Name))
	}
	// The legend has columns of two names, and the last column is flush right.
	columns := (len(f.Lines) + rows - 1) / rows
	for i, l := range f.Lines {
		left := vg.Length(columns-1-i/rows) * (widest + legendDash + legendGap + legendBetween)
		at := vg.Point{X: c.Max.X - 20 - widest - left, Y: c.Max.Y - 20 - vg.Length(i%rows)*lineHeight}
		names = append(names, placed{label{text: l.Name, st: st}, at, st.Rectangle(l.Name).Add(at)})
		dashes = append(dashes, vg.Point{X: at.X - legendGap - legendDash, Y: at.Y})
	}
	return names, dashes
}

// frame sets the ranges, labels and ticks of the axes.
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

func addSpan(p *plot.Plot, s picture.Span, yMax float64) error {
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

func addMark(p *plot.Plot, m picture.Mark, xMin, xMax float64) error {
	line, err := plotter.NewLine(plotter.XYs{{X: xMin, Y: m.Y}, {X: xMax, Y: m.Y}})
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = faint, 0.8, []vg.Length{3, 3}
	p.Add(line)
	return nil
}

func addLine(p *plot.Plot, l picture.Line, c color.Color) error {
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
	return nil
}

func size(points float64) font.Font { return font.From(sans, vg.Points(points)) }

func style(c color.Color, points float64, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: size(points), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}
