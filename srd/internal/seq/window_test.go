package seq

import (
	"testing"

	"pgregory.net/rapid"
)

// windowTwin stores every number for ever.
type windowTwin struct {
	seen  map[uint64]bool
	first uint64
	above uint64
}

func (w *windowTwin) set(n uint64) Verdict {
	switch {
	case w.seen[n]:
		return Duplicate
	case n >= w.first+WindowSize:
		return TooFar
	}
	w.seen[n] = true
	w.above = max(w.above, n+1)
	for w.seen[w.first] {
		w.first++
	}
	return New
}

func (w *windowTwin) words(most int) (v []uint64) {
	for from := w.first + 1; from < w.above && len(v) < most; from += 64 {
		var word uint64
		for i := range uint64(64) {
			if w.seen[from+i] {
				word |= 1 << i
			}
		}
		v = append(v, word)
	}
	return v
}

func wantSameWindow(t *rapid.T, w *Window, twin *windowTwin, most int) {
	if w.FirstMissing() != twin.first || w.Highest() != max(twin.first, twin.above) {
		t.Fatalf("first missing %d, highest %d, want %d, %d", w.FirstMissing(), w.Highest(), twin.first, twin.above)
	}
	dst := make([]uint64, most)
	got := dst[:w.Words(dst)]
	want := twin.words(most)
	if len(got) != len(want) {
		t.Fatalf("%d words, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("word %d is %#x, want %#x", i, got[i], want[i])
		}
	}
}

func TestWindowAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		twin := windowTwin{seen: map[uint64]bool{}}
		set := func(n uint64) {
			if got, want := w.Set(n), twin.set(n); got != want {
				t.Fatalf("Set(%d) = %v, want %v (first missing %d)", n, got, want, twin.first)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := drawNear(t, twin.first, WindowSize)
			// A run of numbers closes gaps and advances the window, sometimes by more than its size.
			run := rapid.SampledFrom([]uint64{1, 1, 1, 63, 64, 65, 200, WindowSize + 70}).Draw(t, "run")
			for i := range run {
				set(n + i)
			}
			if rapid.Bool().Draw(t, "close the gap") {
				set(twin.first)
			}
			if rapid.Bool().Draw(t, "rest") {
				w.Rest()
			}
			wantSameWindow(t, &w, &twin, rapid.SampledFrom([]int{0, 1, 96, WindowSize}).Draw(t, "most"))
		}
	})
}

// All missing numbers arrive last. Then the whole window is one run of set bits, and all
// words are cleared afterwards.
func TestWindowWraps(t *testing.T) {
	var w Window
	for round := range uint64(5) {
		base := w.FirstMissing()
		for n := base + 1; n < base+WindowSize; n++ {
			if w.Set(n) != New {
				t.Fatalf("round %d: %d is not new", round, n)
			}
		}
		if v := w.Set(base + WindowSize); v != TooFar {
			t.Fatalf("round %d: beyond the window: %v", round, v)
		}
		if n := w.Words(make([]uint64, WindowSize)); n != WindowSize/64 {
			t.Fatalf("round %d: %d words", round, n)
		}
		if w.Set(base) != New || w.FirstMissing() != base+WindowSize {
			t.Fatalf("round %d: first missing %d", round, w.FirstMissing())
		}
		if w.Set(base) != Duplicate || w.Set(base+WindowSize-1) != Duplicate {
			t.Fatalf("round %d: the past is new again", round)
		}
		if n := w.Words(make([]uint64, 4)); n != 0 {
			t.Fatalf("round %d: %d words behind the run", round, n)
		}
	}
}

func TestWindowDoesNotAllocate(t *testing.T) {
	var w Window
	w.Set(0)
	n := uint64(0)
	dst := make([]uint64, 96)
	if a := testing.AllocsPerRun(1000, func() {
		n += 40
		for i := range uint64(40) {
			w.Set(n - i)
		}
		w.Set(n + 7)
		w.Set(n + 10*WindowSize)
		w.Words(dst)
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}

// BenchmarkWindow measures two swapped message numbers.
func BenchmarkWindow(b *testing.B) {
	var w Window
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		w.Set(n ^ 1)
		n++
	}
}
