package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/srdtun/srdtun/scripts/picture"
)

// story returns a figure like that of the demo. It has two lines, each with a mean and a swing
// before, during and after a span.
func story(random *rand.Rand, means [2]float64, swing float64, still [2]bool) Figure {
	f := Figure{
		Title: "t", Subtitle: "s", X: "x", Y: "y", YMax: 480,
		Spans: []picture.Span{{From: 5, To: 10, Caption: "busiest spine drops everything"}},
		Marks: []picture.Mark{{Y: 400, Caption: "all 4 links together"}},
	}
	for i, name := range []string{"through srdtun: 368 Mbit/s", "plain TCP: 96 Mbit/s"} {
		l := picture.Line{Name: name, Label: name, LabelAt: [2]float64{0.4, means[i]}}
		if still[i] {
			l.Note, l.NoteAt = "stands still for 7 s", [2]float64{5.3, 4}
		}
		for n := range 160 {
			x, y := float64(n)/10, means[i]+swing*(random.Float64()-0.5)
			if still[i] && x > 5 && x < 12 {
				y = 0
			}
			l.Points = append(l.Points, [2]float64{x, max(y, 0)})
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// words returns the texts of a figure at the positions that they have in the picture.
func words(t *testing.T, f Figure) []placed {
	t.Helper()
	p, err := f.plot()
	if err != nil {
		t.Fatal(err)
	}
	c := draw.Crop(draw.New(vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi))), 12, -18, 10, -52)
	data := p.DataCanvas(c)
	v := f.layout(p, c)
	for i, l := range v {
		if !within(l.box, data.Rectangle) || meets(l.box, v[:i]) {
			t.Errorf("%q at %v is outside, or not clear of others", l.text, l.box)
		}
	}
	return v
}

// All texts are drawn and none overlaps another, whatever the lines are: equal, one above the
// other, at zero, above all links, or random.
func TestWordsNeverOverlap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(means [2]float64, swing float64, still [2]bool) {
		t.Helper()
		want := 4
		for _, s := range still {
			if s {
				want++
			}
		}
		if v := words(t, story(random, means, swing, still)); len(v) != want {
			t.Errorf("%v, swing %v, still %v: %d words, want %d", means, swing, still, len(v), want)
		}
	}
	for _, means := range [][2]float64{{368, 96}, {96, 368}, {96, 96}, {147, 95}, {120, 100}, {0, 0}, {2, 5}, {400, 400}, {470, 440}, {240, 240}} {
		for _, swing := range []float64{0, 60, 480} {
			for _, still := range [][2]bool{{}, {false, true}, {true, true}} {
				check(means, swing, still)
			}
		}
	}
	for range 20 {
		check([2]float64{480 * random.Float64(), 480 * random.Float64()}, 300*random.Float64(), [2]bool{random.IntN(2) == 0, random.IntN(2) == 0})
	}
}

// The heading never overlaps the legend, whatever the length of the legend is.
func TestHeadingIsClearOfTheLegend(t *testing.T) {
	for _, lines := range []int{1, 2, 3, 6} {
		for _, long := range []int{1, 40, 90, 130} {
			f := Figure{Title: strings.Repeat("w", long/2+1), Subtitle: strings.Repeat("wo", long/2+1)}
			for range lines {
				f.Lines = append(f.Lines, picture.Line{Name: "through srdtun"})
			}
			c := draw.New(vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi)))
			names, dashes := f.legend(c)
			for _, title := range f.titles(c, names) {
				for _, d := range dashes {
					if title.st.Font.Size > 6 && title.box.Max.X >= d.X {
						t.Errorf("%d lines: %d letters of %v pt reach the legend", lines, len(title.text), title.st.Font.Size)
					}
				}
			}
		}
	}
}

// A label does not cover lines if there is room elsewhere.
func TestWordsKeepOffTheLines(t *testing.T) {
	var flat, wild picture.Line
	for i := range 100 {
		x := float64(i) / 10
		flat.Points = append(flat.Points, [2]float64{x, 96})
		wild.Points = append(wild.Points, [2]float64{x, 250 + 100*float64(i%2)})
	}
	flat.Label, flat.LabelAt = "flat: 96 Mbit/s", [2]float64{0.4, 96}
	wild.Label, wild.LabelAt = "wild: 300 Mbit/s", [2]float64{0.4, 300}
	f := Figure{X: "x", Y: "y", YMax: 480, Lines: []picture.Line{wild, flat}}
	p, err := f.plot()
	if err != nil {
		t.Fatal(err)
	}
	c := draw.New(vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi)))
	data := p.DataCanvas(c)
	x, y := p.Transforms(&data)
	for _, l := range f.layout(p, c) {
		if n := hidden(l.box, f.onCanvas(data.Rectangle, x, y)); n > 0 {
			t.Errorf("%q hides %d pieces", l.text, n)
		}
	}
}

// A label keeps a distance from the spikes of a line, so that it does not seem to touch them.
func TestWordsKeepADistanceFromSpikes(t *testing.T) {
	const distance = 4
	for _, tip := range []float64{297, 310, 330, 350} {
		f := story(rand.New(rand.NewPCG(1, 2)), [2]float64{371, 96}, 20, [2]bool{})
		for _, n := range []int{7, 20, 32} {
			f.Lines[0].Points[n][1], f.Lines[0].Points[n+1][1] = tip, 430
		}
		p, err := f.plot()
		if err != nil {
			t.Fatal(err)
		}
		c := draw.New(vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi)))
		data := p.DataCanvas(c)
		x, y := p.Transforms(&data)
		wide := vg.Point{X: distance, Y: distance}
		for _, l := range f.layout(p, c) {
			l.box.Min, l.box.Max = l.box.Min.Sub(wide), l.box.Max.Add(wide)
			for _, line := range f.onCanvas(data.Rectangle, x, y)[1:2] {
				for i := 1; i < len(line); i++ {
					if crosses(l.box, line[i-1], line[i]) {
						t.Errorf("tip at %v: %q is nearer than %d pt to the line at %v", tip, l.text, distance, line[i])
					}
				}
			}
		}
	}
}

// crosses reports whether a piece of a line is in a box.
func crosses(box vg.Rectangle, a, b vg.Point) bool {
	for i := range 101 {
		p := a.Add(b.Sub(a).Scale(vg.Length(i) / 100))
		if p.X > box.Min.X && p.X < box.Max.X && p.Y > box.Min.Y && p.Y < box.Max.Y {
			return true
		}
	}
	return false
}

// A span reaches from the bottom to the top, even if a point is above the figure's YMax.
func TestSpanReachesTheTop(t *testing.T) {
	f := story(rand.New(rand.NewPCG(1, 2)), [2]float64{100, 200}, 0, [2]bool{})
	f.Lines[0].Points[9][1] = f.YMax + 90
	p, err := f.plot()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, top := f.bounds(); top != p.Y.Max {
		t.Errorf("spans end at %v, and the axis at %v", top, p.Y.Max)
	}
}

// A text for which there is no position is left out, without any other effect.
func TestWordWithoutPlace(t *testing.T) {
	f := story(rand.New(rand.NewPCG(1, 2)), [2]float64{100, 200}, 0, [2]bool{})
	f.Spans[0].Caption = strings.Repeat("w", 400)
	for i := range 12 {
		f.Marks = append(f.Marks, picture.Mark{Y: float64(40 * i), Caption: "a caption that takes a whole line of the picture, from the left end to the right, for which no other has room"})
	}
	words(t, f)
}
