package main

import (
	"fmt"
	"math"
	"slices"
)

// scene is a network and its traffic, which give one or more figures.
type scene struct {
	name    string
	figures []figure
	// cost is about the processor time of a seed in seconds: the longest begin first.
	cost    float64
	measure func(r *round) error
}

// figure is a quantity of a scene, and its goal.
type figure struct {
	name string
	unit string
	goal goal
}

// goal is the range in which a figure is to be. Its zero value accepts any: such a figure is
// printed for comparison.
type goal struct {
	least, most float64
	set         bool
}

func atLeast(x float64) goal           { return goal{x, math.Inf(1), true} }
func atMost(x float64) goal            { return goal{math.Inf(-1), x, true} }
func between(least, most float64) goal { return goal{least, most, true} }

func (g goal) met(x float64) bool { return !g.set || x >= g.least && x <= g.most }

// String is the goal as the table shows it.
func (g goal) String() string {
	switch {
	case !g.set:
		return "-"
	case math.IsInf(g.most, 1):
		return fmt.Sprintf(">= %g", g.least)
	case math.IsInf(g.least, -1):
		return fmt.Sprintf("<= %g", g.most)
	}
	return fmt.Sprintf("%g to %g", g.least, g.most)
}

// round is one play of a scene with a seed, and what it found.
type round struct {
	scene  *scene
	seed   uint64
	plans  string
	values map[string]float64
}

// set notes the value of a figure by its name.
func (r *round) set(name string, x float64) {
	if !slices.ContainsFunc(r.scene.figures, func(f figure) bool { return f.name == name }) {
		panic("accept: " + r.scene.name + " has no figure " + name)
	}
	r.values[name] = x
}

// median returns the middle of v, or the mean of the two there.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
