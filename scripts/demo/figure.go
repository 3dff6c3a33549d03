package main

import (
	"fmt"
	"slices"
	"time"
)

// figure is srdplot's input.
type figure struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	X        string  `json:"x"`
	Y        string  `json:"y"`
	YMax     float64 `json:"y_max"`
	Lines    []line  `json:"lines"`
	Spans    []span  `json:"spans"`
	Marks    []mark  `json:"marks"`
}

type line struct {
	Name    string       `json:"name"`
	Points  [][2]float64 `json:"points"`
	Label   string       `json:"label"`
	LabelAt [2]float64   `json:"label_at"`
	Note    string       `json:"note,omitempty"`
	NoteAt  [2]float64   `json:"note_at"`
}

type span struct {
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Caption string  `json:"caption"`
}

type mark struct {
	Y       float64 `json:"y"`
	Caption string  `json:"caption"`
}

// labelFrom is where a label begins, in seconds: over the healthy time before the outage.
// srdplot moves it up or down, to where it hides least.
const labelFrom = 0.4

// notedStall is a stall that the picture says in words, just above the line that lies at
// zero then: noteIn seconds after it began, noteUp Mbit/s up.
const (
	notedStall = time.Second
	noteIn     = 0.3
	noteUp     = 4
)

// shortest is the shortest interval that is drawn: iperf3 ends with a rest of one,
// whose rate says nothing.
const shortest = 50 * time.Millisecond

// newFigure lays both runs over each other. The tunnel, drawn last in time, is
// the first line and so gets the first colour.
func newFigure(acts []act) figure {
	const capacity = spines * rateMbit
	o := acts[0].outage
	f := figure{
		Title:    fmt.Sprintf("One TCP flow while one of %d paths is silently dead", spines),
		Subtitle: fmt.Sprintf("%d spines of %d Mbit/s, unmodified iperf3, goodput in intervals of 0.1 s", spines, rateMbit),
		X:        "Time since the start of the flow (s)",
		Y:        "Goodput (Mbit/s)",
		YMax:     capacity * 1.2,
		Spans:    []span{{o.BrokenAt.Seconds(), o.Healed.Seconds(), "busiest spine drops everything"}},
	}
	if disturbed(acts) != "" {
		f.Subtitle += "; a busy machine"
	}
	for _, a := range slices.Backward(acts) {
		before := a.outage.Before / 1e6
		l := line{Name: a.title, Label: fmt.Sprintf("%s: %.0f Mbit/s", a.name, before), LabelAt: [2]float64{labelFrom, before}}
		if s := a.outage.Stall; s >= notedStall {
			l.Note = fmt.Sprintf("stands still for %.0f s", s.Seconds())
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
	if f.above(capacity) {
		caption += " (above: what waited for a lost packet)"
	}
	f.Marks = []mark{{capacity, caption}}
	return f
}

// above reports whether a line has a point above a value.
func (f figure) above(value float64) bool {
	return slices.ContainsFunc(f.Lines, func(l line) bool {
		return slices.ContainsFunc(l.Points, func(p [2]float64) bool { return p[1] > value })
	})
}
