package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/srdtun/srdtun/lab/stat"
)

// scene is a network with traffic, on which one or more metrics are measured.
type scene struct {
	name    string
	figures []figure
	// host is the name of the scene's host model. If it is "", the model of the command line is
	// used.
	host string
	// cost is the estimated processor time of one seed in seconds. The scenes with the largest cost
	// are started first.
	cost    float64
	measure func(r *round) error
}

// busy returns the scene, with hosts whose processors are busy with other processes. There a daemon
// wakes with a delay of milliseconds, as on a small machine under load. Most faults that users
// report appear only on such hosts.
func busy(s *scene) *scene {
	c := *s
	c.name, c.host = s.name+", busy hosts", "daemon-busy"
	return &c
}

// figure is a metric of a scene, with its goal.
type figure struct {
	name string
	unit string
	goal goal
	// If worst is set, the metric's value is the worst of all seeds in place of the median, so each
	// seed must reach the goal.
	worst bool
}

// of returns the metric's value from the values of all seeds. This is the median, or the worst
// value with respect to the goal.
func (f *figure) of(seeds []float64) float64 {
	switch {
	case !f.worst:
		return stat.Median(seeds)
	case math.IsInf(f.goal.most, 1):
		return slices.Min(seeds)
	}
	return slices.Max(seeds)
}

// goal is the range that a metric must be in. The zero value accepts any value, which is printed
// for comparison only.
type goal struct {
	least, most float64
	set         bool
}

func atLeast(x float64) goal           { return goal{x, math.Inf(1), true} }
func atMost(x float64) goal            { return goal{math.Inf(-1), x, true} }
func between(least, most float64) goal { return goal{least, most, true} }

func (g goal) met(x float64) bool { return !g.set || x >= g.least && x <= g.most }

// String formats the goal for the results table.
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

// round is one run of a scene with a seed, with its results.
type round struct {
	scene  *scene
	seed   uint64
	plans  string
	host   string // name of the host model
	values map[string]float64
}

// set records the value x of the metric with the given name.
func (r *round) set(name string, x float64) {
	if !slices.ContainsFunc(r.scene.figures, func(f figure) bool { return f.name == name }) {
		panic("accept: " + r.scene.name + " has no figure " + name)
	}
	r.values[name] = x
}
