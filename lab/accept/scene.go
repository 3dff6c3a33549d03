package main

import (
	"fmt"
	"math"
	"slices"
)

// scene is a network with traffic, from which one or more figures are measured.
type scene struct {
	name    string
	figures []figure
	// host is the kind of its hosts; "": the kind of the command line.
	host string
	// cost estimates the processor time of a seed in seconds, because the longest scenes are
	// started first.
	cost    float64
	measure func(r *round) error
}

// busy returns the scene between hosts whose processors others keep busy. A daemon then wakes
// late by milliseconds, as it does on a small machine under load: most faults of the field show
// there alone.
func busy(s *scene) *scene {
	c := *s
	c.name, c.host = s.name+", busy hosts", "daemon-busy"
	return &c
}

// figure is a measured quantity of a scene, with its goal.
type figure struct {
	name string
	unit string
	goal goal
	// worst takes the least of all seeds in place of the median: each has to reach the goal.
	worst bool
}

// goal is the range in which a figure must be. Its zero value accepts any figure, which is
// then printed for comparison.
type goal struct {
	least, most float64
	set         bool
}

func atLeast(x float64) goal           { return goal{x, math.Inf(1), true} }
func atMost(x float64) goal            { return goal{math.Inf(-1), x, true} }
func between(least, most float64) goal { return goal{least, most, true} }

func (g goal) met(x float64) bool { return !g.set || x >= g.least && x <= g.most }

// String returns the goal in the form of the table.
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

// round is one play of a scene with a seed, with its results.
type round struct {
	scene  *scene
	seed   uint64
	plans  string
	host   string // kind of hosts
	values map[string]float64
}

// set records the value of a figure by its name.
func (r *round) set(name string, x float64) {
	if !slices.ContainsFunc(r.scene.figures, func(f figure) bool { return f.name == name }) {
		panic("accept: " + r.scene.name + " has no figure " + name)
	}
	r.values[name] = x
}

// median returns the middle value of v, or the mean of the two middle values.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
