package steer

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// No flowcell exceeds its size, except for a single larger train. Trains that fit into a
// flowcell share its path.
func TestPrestoCutsFlowcells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, usable := NewPresto(nil, DefaultFlowcell), setOf(rapid.IntRange(2, 8).Draw(t, "paths"))
		last, cell := -1, 0
		for range rapid.IntRange(1, 100).Draw(t, "trains") {
			n := rapid.IntRange(1, 65507).Draw(t, "bytes")
			p := s.Pick(1, usable, Context{Flow: 7, Bytes: n})
			if fits := cell+n <= DefaultFlowcell; last >= 0 && fits != (p == last) {
				t.Fatalf("%d bytes after %d: path %d after %d", n, cell, p, last)
			}
			if p != last {
				last, cell = p, 0
			}
			cell += n
			s.Sent(1, p, 7, n)
		}
	})
}

// With the weights 3 and 1 the bytes are also divided in this ratio, and no path waits
// longer than necessary for its turn.
func TestPrestoTakesTurnsByWeight(t *testing.T) {
	s, usable := NewPresto([]int{3, 1}, DefaultFlowcell), setOf(4)
	for p := range 4 {
		s.Place(p, p%2)
	}
	var got [4]float64
	for i := range 8000 {
		flow := uint32(i % 5)
		p := s.Pick(1, usable, Context{Flow: flow, Bytes: 60000})
		s.Sent(1, p, flow, 60000)
		got[p] += 1.0 / 8000
	}
	for p, want := range []float64{3.0 / 8, 1.0 / 8, 3.0 / 8, 1.0 / 8} {
		if math.Abs(got[p]-want) > 0.002 {
			t.Errorf("path %d has %.4f, want %.4f", p, got[p], want)
		}
	}
}

func TestTurnsAreSpread(t *testing.T) {
	var a turns
	usable := setOf(3)
	a.weight[0], a.weight[1], a.weight[2] = 4, 1, 1
	want := []int{0, 0, 1, 0, 2, 0}
	for i := range 24 {
		if p := a.next(usable); p != want[i%6] {
			t.Fatalf("turn %d: path %d, want %d", i, p, want[i%6])
		}
	}
}
