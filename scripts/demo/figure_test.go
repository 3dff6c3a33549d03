package main

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/scripts/picture"
)

// TestStallIsSaid tests that the picture contains a note with the length of a stall, but only if a
// flow stalled.
func TestStallIsSaid(t *testing.T) {
	run := func(stall time.Duration) act {
		o := &meter.Outage{BrokenAt: 5 * time.Second, Healed: 10 * time.Second, Before: 96e6, Stall: stall}
		return act{name: "plain TCP", outage: o}
	}
	f := newFigure([]act{run(6900 * time.Millisecond), run(100 * time.Millisecond)})
	if l := f.Lines[1]; l.Note != "stands still for 6.9 s" || l.NoteAt[0] < 5 || l.NoteAt[0] > 6 {
		t.Errorf("said %q at %v", l.Note, l.NoteAt)
	}
	if l := f.Lines[0]; l.Note != "" {
		t.Errorf("said %q of a moment", l.Note)
	}
}

// The table has the same length of a stall as the picture, and says what its rates are: a flow that
// stalls for a part of the time after the outage has a low mean.
func TestTableSaysItsRatesAndStalls(t *testing.T) {
	o := &meter.Outage{BrokenAt: 5 * time.Second, Healed: 10 * time.Second, Before: 96e6, After: 39e6, Stall: 8750 * time.Millisecond}
	acts := []act{{name: "plain TCP", outage: o}}
	var out strings.Builder
	printTable(&out, acts)
	stall := newFigure(acts).Lines[0].Note
	for _, want := range []string{" 39 Mbit/s", strings.TrimPrefix(stall, "stands still for "), "Rates are means. The mean after the outage includes the rest of a stall."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

// For all values, a label must be at its line. srdplot places the labels, and a test of srdplot
// checks that no two texts overlap.
func TestLabelsAreAtTheirLines(t *testing.T) {
	run := func(name string, before float64) act {
		return act{name: name, outage: &meter.Outage{Before: before}}
	}
	f := newFigure([]act{run("plain TCP", 95e6), run("through srdtun", 147e6)})
	for i, want := range []picture.Line{{Label: "through srdtun: 147 Mbit/s", LabelAt: [2]float64{labelFrom, 147}}, {Label: "plain TCP: 95 Mbit/s", LabelAt: [2]float64{labelFrom, 95}}} {
		if l := f.Lines[i]; l.Label != want.Label || l.LabelAt != want.LabelAt {
			t.Errorf("%q at %v, want %q at %v", l.Label, l.LabelAt, want.Label, want.LabelAt)
		}
	}
}

// The picture must explain a sample above the sum of all link rates.
func TestSampleAboveAllLinksIsExplained(t *testing.T) {
	run := func(mbit float64) act {
		return act{name: "through srdtun", outage: &meter.Outage{Series: meter.Series{{Start: 0, End: 100 * time.Millisecond, BitsPerSec: mbit * 1e6}}}}
	}
	for mbit, want := range map[float64]string{380: "all 4 links together", 458: "all 4 links together (above: packets released after a repair)"} {
		if got := newFigure([]act{run(mbit)}).Marks[0].Caption; got != want {
			t.Errorf("%v Mbit/s: %q, want %q", mbit, got, want)
		}
	}
}

// A busy machine must be reported as text and in the picture.
func TestBusyMachineIsSaid(t *testing.T) {
	run := func(theirs float64, note string) act {
		return act{name: "plain TCP", outage: &meter.Outage{}, watch: meter.Watch{Others: theirs, Note: note}}
	}
	quiet, busy := []act{run(0.2, ""), run(0, "")}, []act{run(0.1, "1.9 processors were busy before it began"), run(0, "")}
	if got := disturbed(quiet); got != "" || strings.Contains(newFigure(quiet).Subtitle, ";") {
		t.Errorf("said %q of a quiet machine", got)
	}
	if got := disturbed(busy); got != "1.9 processors were busy before it began (plain TCP)" || !strings.HasSuffix(newFigure(busy).Subtitle, "; a busy machine") {
		t.Errorf("said %q, %q", got, newFigure(busy).Subtitle)
	}
	beside := []act{run(0.31, "other processes took 0.3 processors"), run(1.29, "other processes took 1.3 processors")}
	if got := newFigure(beside).Subtitle; !strings.HasSuffix(got, "; other processes took 1.3 processors") {
		t.Errorf("said %q", got)
	}
}
