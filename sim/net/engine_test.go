package net

import (
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// Events run in the order of their times, and events at the same time in the order in which
// they were scheduled.
func TestEngineOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := NewEngine(1, nil)
		times := rapid.SliceOfN(rapid.Int64Range(-5, 20), 0, 300).Draw(t, "times")
		var got, want []int
		for i, d := range times {
			want = append(want, i)
			e.At(Start.Add(time.Duration(d)), func() { got = append(got, i) })
		}
		due := func(i int) int64 { return max(0, times[i]) }
		sort.SliceStable(want, func(a, b int) bool { return due(want[a]) < due(want[b]) })
		e.Run(time.Second, nil)
		if len(got) != len(want) {
			t.Fatalf("%d events of %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("order %v, want %v of times %v", got, want, times)
			}
		}
	})
}

// Run stops when its time is over, and at once when done() returns true.
func TestEngineRun(t *testing.T) {
	e := NewEngine(1, nil)
	n := 0
	for i := range 10 {
		e.After(time.Duration(i)*time.Millisecond, func() { n++ })
	}
	if e.Run(4*time.Millisecond, nil) || n != 5 || e.Since() != 4*time.Millisecond {
		t.Errorf("%d events until %v", n, e.Since())
	}
	if !e.Run(time.Second, func() bool { return n == 7 }) || n != 7 || e.Since() != 6*time.Millisecond {
		t.Errorf("%d events until %v", n, e.Since())
	}
	if e.Run(time.Second, nil) || n != 10 || e.Now() != Start.Add(time.Second+6*time.Millisecond) {
		t.Errorf("%d events until %v", n, e.Since())
	}
}

// An event in the past runs now: time never goes back.
func TestEngineNeverGoesBack(t *testing.T) {
	e := NewEngine(1, nil)
	var last mono.Time
	var again func()
	again = func() {
		if e.Now() < last {
			t.Fatalf("time goes back from %v to %v", last, e.Now())
		}
		last = e.Now()
		if e.Done() < 100 {
			e.At(e.Now()-50, again)
			e.After(10, again)
		}
	}
	e.After(0, again)
	e.Run(time.Second, nil)
}
