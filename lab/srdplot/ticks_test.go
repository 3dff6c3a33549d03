package main

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"
)

// labels returns the labels of ticks.
func labels(ticks []plot.Tick) (v []string) {
	for _, t := range ticks {
		if t.Label != "" {
			v = append(v, t.Label)
		}
	}
	return v
}

func TestRoundTicks(t *testing.T) {
	for _, hi := range []float64{0.3, 1, 7, 430, 480, 99_999} {
		if n := len(roundTicks(0, hi)); n < 4 || n > 10 {
			t.Errorf("%d ticks up to %v", n, hi)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []string
	}{
		{4, 130, []string{"5", "10", "20", "50", "100"}},
		{1, 1000, []string{"1", "10", "100", "1000"}},
		{0.1, 60, []string{"0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"}},
		{0.9, 20_000, []string{"1", "10", "100", "1000", "10000"}},
		{2.1, 6, []string{"3", "4", "5", "6"}},
		{230, 290, []string{"230", "240", "250", "260", "270", "280", "290"}},
		{1, 2, []string{"1", "1.2", "1.4", "1.6", "1.8", "2"}},
	} {
		if got := labels(logTicks(c.lo, c.hi)); !slices.Equal(got, c.want) {
			t.Errorf("%v to %v: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
}

// A logarithmic axis with any range has enough labels to be read, and not so many that they touch.
// All labels are within the range.
func TestLogAxesAreLegible(t *testing.T) {
	for from := -6.0; from < 6; from += 0.037 {
		for _, decades := range []float64{0.08, 0.2, 0.31, 0.5, 0.9, 1, 1.3, 2, 2.7, 3, 4, 8, 12, 20} {
			lo, hi := math.Pow(10, from), math.Pow(10, from+decades)
			ticks := logTicks(lo, hi)
			if n := len(labels(ticks)); n < leastLabels || n > mostLabels+1 {
				t.Errorf("%v to %v: labels %v", lo, hi, labels(ticks))
			}
			for _, x := range ticks {
				if x.Value < lo || x.Value > hi {
					t.Errorf("%v to %v: %v is not on it", lo, hi, x.Value)
				}
			}
		}
	}
}
