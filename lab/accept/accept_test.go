package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A metric within its range meets its goal, and a metric without a goal always does.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		goal goal
		text string
		in   []float64
		out  []float64
	}{
		{goal{}, "-", []float64{-1, 1e9}, nil},
		{atLeast(0.95), ">= 0.95", []float64{0.95, 2}, []float64{0.94}},
		{atMost(40), "<= 40", []float64{0, 40}, []float64{41}},
		{between(0.5, 2), "0.5 to 2", []float64{0.5, 2}, []float64{0.4, 2.1}},
	} {
		if c.goal.String() != c.text {
			t.Errorf("%q, want %q", c.goal, c.text)
		}
		for _, x := range c.in {
			if !c.goal.met(x) {
				t.Errorf("%v misses %v", x, c.goal)
			}
		}
		for _, x := range c.out {
			if c.goal.met(x) {
				t.Errorf("%v meets %v", x, c.goal)
			}
		}
	}
}

// All scenes have different names, and each metric has a unit or is a count.
func TestScenes(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenes() {
		if names[s.name] || len(s.figures) == 0 || s.cost <= 0 {
			t.Errorf("%q: known %v, %d figures, cost %v", s.name, names[s.name], len(s.figures), s.cost)
		}
		names[s.name] = true
	}
	if len(wanted(scenes(), "")) != len(names) {
		t.Error("not all scenes are wanted without a name")
	}
	if v := wanted(scenes(), "restarted,no such"); len(v) != 2 {
		t.Errorf("%d scenes are called so", len(v))
	}
}

// Two runs give the same values of all metrics, on any number of processors. Each metric has one
// line of JSON.
func TestSameFigures(t *testing.T) {
	var texts [2]string
	for i := range texts {
		var out bytes.Buffer
		o := &options{out: &out, only: "restarted,adsl", seeds: 2, jobs: 1 + i, host: "daemon", json: filepath.Join(t.TempDir(), "figures")}
		if _, err := run(o); err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(o.json)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = out.String() + string(lines)
		if n := strings.Count(string(lines), "\n"); n != 12 {
			t.Errorf("%d lines of JSON:\n%s", n, lines)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\nand then\n%s", texts[0], texts[1])
	}
}
