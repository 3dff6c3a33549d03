package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/srdtun/srdtun/e2e/others"
	"github.com/srdtun/srdtun/scripts/picture"
)

// labelFrom is the position of a label's start on the time axis, in seconds. The position is before
// the outage. srdplot moves the label up or down so that the label hides little.
const labelFrom = 0.4

// notedStall is the shortest stall in seconds that a note in the picture describes. The note is
// just above the line, which is at zero during the stall. The note starts noteIn seconds after the
// start of the stall, at noteUp Mbit/s.
const (
	notedStall = time.Second
	noteIn     = 0.3
	noteUp     = 4
)

// shortest is the length of the shortest interval in the picture. The last interval of iperf3 is
// incomplete, and its rate is meaningless.
const shortest = 50 * time.Millisecond

// newFigure draws both runs into one figure. The tunnel's run is the last one, but its line is the
// first in the figure, and so gets the first colour.
func newFigure(acts []act) picture.Figure {
	const capacity = spines * rateMbit
	o := acts[0].outage
	f := picture.Figure{
		Title:    fmt.Sprintf("One TCP flow while one of %d paths is silently dead", spines),
		Subtitle: fmt.Sprintf("%d spines of %d Mbit/s, unmodified iperf3, goodput in intervals of 0.1 s", spines, rateMbit),
		X:        "Time since the start of the flow (s)",
		Y:        "Goodput (Mbit/s)",
		YMax:     capacity * 1.2,
		Spans:    []picture.Span{{From: o.BrokenAt.Seconds(), To: o.Healed.Seconds(), Caption: "busiest spine drops everything"}},
	}
	var most float64
	for _, a := range acts {
		most = max(most, a.watch.Others)
	}
	switch {
	case most > others.Most:
		f.Subtitle += fmt.Sprintf("; other processes took %.1f processors", most)
	case disturbed(acts) != "":
		f.Subtitle += "; a busy machine"
	}
	for _, a := range slices.Backward(acts) {
		before := a.outage.Before / 1e6
		l := picture.Line{Name: a.title, Label: fmt.Sprintf("%s: %.0f Mbit/s", a.name, before), LabelAt: [2]float64{labelFrom, before}}
		if s := a.outage.Stall; s >= notedStall {
			l.Note = fmt.Sprintf("stands still for %.1f s", s.Seconds())
			l.NoteAt = [2]float64{a.outage.BrokenAt.Seconds() + noteIn, noteUp}
		}
		for _, v := range a.outage.Series {
			if v.End-v.Start < shortest {
				continue
			}
			l.Points = append(l.Points, [2]float64{(v.Start + v.End).Seconds() / 2, v.BitsPerSec / 1e6})
		}
		f.Lines = append(f.Lines, l)
	}
	caption := fmt.Sprintf("all %d links together", spines)
	if above(f.Lines, capacity) {
		caption += " (above: packets released after a repair)"
	}
	f.Marks = []picture.Mark{{Y: capacity, Caption: caption}}
	return f
}

// above reports whether a line has a point above a value.
func above(lines []picture.Line, value float64) bool {
	return slices.ContainsFunc(lines, func(l picture.Line) bool {
		return slices.ContainsFunc(l.Points, func(p [2]float64) bool { return p[1] > value })
	})
}
