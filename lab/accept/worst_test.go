package main

import "testing"

// The worst value is the least if the goal is a lower bound, and the greatest otherwise.
func TestWorstValue(t *testing.T) {
	seeds := []float64{2, 0, 1}
	for _, c := range []struct {
		f    figure
		want float64
	}{{figure{goal: atMost(1)}, 1}, {figure{goal: atMost(1), worst: true}, 2}, {figure{goal: atLeast(1), worst: true}, 0}} {
		if got := c.f.of(seeds); got != c.want {
			t.Errorf("%+v: %v, want %v", c.f, got, c.want)
		}
	}
}
