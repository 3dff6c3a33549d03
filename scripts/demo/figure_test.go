package main

import "testing"

// TestLabelsKeepOffTheLines draws a flat line and one that swings over half of
// the picture.
func TestLabelsKeepOffTheLines(t *testing.T) {
	var flat, wild line
	for i := range 100 {
		x := float64(i) / 10
		flat.Points = append(flat.Points, [2]float64{x, 96})
		wild.Points = append(wild.Points, [2]float64{x, 250 + 100*float64(i%2)})
	}
	f := figure{Lines: []line{wild, flat}}
	for _, mean := range []float64{96, 300} {
		y := f.freeHeight(mean)
		for _, l := range f.Lines {
			if n := l.crossings(y, y+labelHeight); n > 0 {
				t.Errorf("the label for %v at %v hides %d pieces", mean, y, n)
			}
		}
	}
}
