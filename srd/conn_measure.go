package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Measured is the result of a round-trip measurement on one path.
type Measured struct {
	Slot  uint16
	Tuple Tuple
	RTT   time.Duration // 0: no answer
}

// Measure begins a measurement of the round trips of the paths that pick selects, and ends
// any earlier measurement. Measure returns the number of selected paths. A nil pick selects
// all paths, and opens a path on every tuple. Without a session no path is measured. Next
// sends the challenges.
func (c *Conn) Measure(now mono.Time, pick func(*PathInfo) bool) int {
	c.paths.measuring = nil
	if !c.session.ready(now) {
		return 0
	}
	if pick == nil {
		c.paths.needs = uint64(len(c.paths.tuples))
		c.paths.openAll(now)
	}
	m := &measurement{}
	paths := c.Paths()
	for i := range paths {
		if v := &paths[i]; pick == nil || pick(v) {
			m.probes = append(m.probes, measured{path: c.paths.table[v.Slot], tuple: v.Tuple, slot: v.Slot})
		}
	}
	if len(m.probes) > 0 {
		c.paths.measuring = m
	}
	return len(m.probes)
}

// Measurement returns the present results of a measurement. The result `open` is true while
// a challenge is not yet sent or has no response.
func (c *Conn) Measurement() (v []Measured, open bool) {
	if c.paths.measuring == nil {
		return nil, false
	}
	for i := range c.paths.measuring.probes {
		p := &c.paths.measuring.probes[i]
		v = append(v, Measured{Slot: p.slot, Tuple: p.tuple, RTT: p.rtt})
		open = open || p.rtt == 0
	}
	return v, open
}

// EndMeasure ends the measurement. Later responses are ignored.
func (c *Conn) EndMeasure() { c.paths.measuring = nil }
