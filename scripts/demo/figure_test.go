package main

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
)

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

// TestStallIsSaid: the picture says in words how long a flow stood still, if it did.
func TestStallIsSaid(t *testing.T) {
	run := func(stall time.Duration) act {
		o := &meter.Outage{BrokenAt: 5 * time.Second, Healed: 10 * time.Second, Before: 96e6, Stall: stall}
		return act{name: "plain TCP", outage: o}
	}
	f := newFigure([]act{run(6900 * time.Millisecond), run(100 * time.Millisecond)})
	if l := f.Lines[1]; l.Note != "stands still for 7 s" || l.NoteAt[0] < 5 || l.NoteAt[0] > 6 {
		t.Errorf("said %q at %v", l.Note, l.NoteAt)
	}
	if l := f.Lines[0]; l.Note != "" {
		t.Errorf("said %q of a moment", l.Note)
	}
}
