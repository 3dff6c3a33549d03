package main

import (
	"fmt"
	"math"
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

// Where a direct label may stand: over the healthy time before the outage, in
// seconds, and how much height it takes, in Mbit/s.
const (
	labelFrom, labelTo = 0.4, 4.8
	labelHeight        = 34
)

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
		Marks:    []mark{{capacity, fmt.Sprintf("all %d links together", spines)}},
	}
	for _, a := range slices.Backward(acts) {
		l := line{Name: a.title, Label: fmt.Sprintf("%s: %.0f Mbit/s", a.name, a.outage.Before/1e6)}
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
	for i, a := range slices.Backward(acts) {
		f.Lines[len(acts)-1-i].LabelAt = [2]float64{labelFrom, f.freeHeight(a.outage.Before / 1e6)}
	}
	return f
}

// freeHeight is where a label hides least of the lines, and of such places the
// one nearest below or above mean.
func (f figure) freeHeight(mean float64) (best float64) {
	cost := math.Inf(1)
	for y := 4.0; y+labelHeight < spines*rateMbit; y += 4 {
		hidden := 0
		for _, l := range f.Lines {
			hidden += l.crossings(y, y+labelHeight)
		}
		middle := y + labelHeight/2
		if c := float64(1000*hidden) + math.Abs(middle-mean); c < cost {
			best, cost = y, c
		}
	}
	return best
}

// crossings counts the pieces of the line that touch a band of heights where
// labels may stand.
func (l line) crossings(low, high float64) (n int) {
	for i := 1; i < len(l.Points); i++ {
		a, b := l.Points[i-1], l.Points[i]
		if b[0] >= labelFrom && a[0] <= labelTo && max(a[1], b[1]) >= low && min(a[1], b[1]) <= high {
			n++
		}
	}
	return n
}
