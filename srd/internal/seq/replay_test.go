package seq

import (
	"testing"

	"pgregory.net/rapid"
)

// replayTwin stores every number for ever.
type replayTwin struct {
	seen map[uint64]bool
	next uint64
	rest uint64 // lower numbers are not fresh, since the last Rest
}

func (w *replayTwin) fresh(n uint64) bool {
	return n != 1<<64-1 && !w.seen[n] && n >= w.rest && n+ReplaySize >= w.next
}

func (w *replayTwin) set(n uint64) bool {
	if !w.fresh(n) {
		return false
	}
	w.seen[n] = true
	w.next = max(w.next, n+1)
	return true
}

func (w *replayTwin) below() (v uint64) {
	for i := range uint64(64) {
		if h := w.next - 1; h >= 1+i && w.seen[h-1-i] {
			v |= 1 << i
		}
	}
	return v
}

// drawNear draws an interesting number for a window of `size` numbers whose next number is
// `next`: near its ends, inside it, or far above it.
func drawNear(t *rapid.T, next, size uint64) uint64 {
	near := rapid.SampledFrom([]uint64{next, next + size, next + 2*size, next - min(next, size), next - min(next, 64), 0}).Draw(t, "near")
	off := rapid.Uint64Range(0, 130).Draw(t, "off")
	if rapid.Bool().Draw(t, "under") {
		return near - min(near, off)
	}
	return near + off
}

// wantUnder checks the results of Below and Last for lower numbers.
func (w *replayTwin) wantUnder(t *rapid.T, r *Replay) {
	if w.next == 0 {
		return
	}
	low := r.low * 64
	n := w.next - min(w.next, rapid.Uint64Range(0, 400).Draw(t, "n"))
	from := n - min(n, rapid.Uint64Range(0, 400).Draw(t, "from"))
	h, ok := uint64(0), false
	for i := n; i > max(from, low) && !ok; i-- {
		h, ok = i-1, w.seen[i-1]
	}
	got, some := r.Last(from, n)
	if some != ok || ok && got != h {
		t.Fatalf("Last(%d, %d) = %d, %v, want %d, %v", from, n, got, some, h, ok)
	}
	if !ok {
		return
	}
	for i := range uint64(64) {
		if set := r.Below(h)>>i&1 != 0; h > i && h-1-i >= low && set != w.seen[h-1-i] || set && (h <= i || !w.seen[h-1-i]) {
			t.Fatalf("Below(%d) tells %v of %d", h, set, h-1-i)
		}
	}
}

func TestReplayAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Replay
		twin := replayTwin{seen: map[uint64]bool{}}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			n := drawNear(t, twin.next, ReplaySize)
			if got, want := r.Fresh(n), twin.fresh(n); got != want {
				t.Fatalf("Fresh(%d) = %v with next %d", n, got, twin.next)
			}
			if got, want := r.Set(n), twin.set(n); got != want {
				t.Fatalf("Set(%d) = %v with next %d", n, got, twin.next)
			}
			if len(r.words) > replayWords0 && rapid.IntRange(0, 20).Draw(t, "rest") == 0 {
				r.Rest()
				twin.rest = r.floor * 64
				if twin.rest+replayWords0*64 < twin.next {
					t.Fatalf("numbers from %d on are fresh of %d, with %d words", twin.rest, twin.next, len(r.words))
				}
			}
			if r.Next() != twin.next {
				t.Fatalf("Next() = %d, want %d", r.Next(), twin.next)
			}
			if twin.next > 0 && r.Below(r.Next()-1) != twin.below() {
				t.Fatalf("Below() = %#x, want %#x", r.Below(r.Next()-1), twin.below())
			}
			twin.wantUnder(t, &r)
		}
	})
}

// Every number is accepted once, in any order, if it is not below the window.
func TestReplayTakesTheWholeWindowOnce(t *testing.T) {
	var r Replay
	const from = 1000
	r.Set(from + ReplaySize - 1)
	for n := uint64(from); n < from+ReplaySize-1; n++ {
		if !r.Set(n) {
			t.Fatalf("%d refused", n)
		}
	}
	for n := uint64(from); n < from+ReplaySize; n++ {
		if r.Fresh(n) {
			t.Fatalf("%d accepted twice", n)
		}
	}
	if r.Fresh(from - 1) {
		t.Fatal("older than the window, yet fresh")
	}
	if r.Below(r.Next()-1) != ^uint64(0) {
		t.Fatalf("Below() = %#x", r.Below(r.Next()-1))
	}
}

// The highest possible packet number is never accepted, because no number would be left
// after it.
func TestReplayEndOfSpace(t *testing.T) {
	var r Replay
	if r.Set(1<<64-1) || r.Next() != 0 {
		t.Fatal("the last number was taken")
	}
	if !r.Set(1<<64-2) || r.Set(1<<64-2) || !r.Set(1<<64-3) || r.Set(1<<64-1) || r.Set(0) {
		t.Fatalf("wrong answers at the end, next %d", r.Next())
	}
}

func TestReplayDoesNotAllocate(t *testing.T) {
	var r Replay
	r.Set(0)
	n := uint64(0)
	if a := testing.AllocsPerRun(1000, func() {
		n += 700
		r.Fresh(n)
		r.Set(n)
		r.Set(n - 3)
		r.Below(n)
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}

// The window of a path with few packets takes little memory, whatever its first number is.
// The window of a busy path has the full size.
func TestReplayGrowsWithTheTraffic(t *testing.T) {
	for _, from := range []uint64{0, 5000, 1 << 40} {
		var r Replay
		for n := range uint64(64) {
			r.Set(from + n)
		}
		if len(r.words) != replayWords0 {
			t.Errorf("from %d on: %d words for 64 packets", from, len(r.words))
		}
		r.Set(from + 1000)
		if !r.Fresh(from+999) || r.Fresh(from+63) || len(r.words) != 16 {
			t.Errorf("from %d on: %d words for 1001 packets", from, len(r.words))
		}
		if from > ReplaySize { // older packets arrive late
			if !r.Set(from-1000) || r.Fresh(from-1000) || !r.Fresh(from-999) || r.Fresh(from) || len(r.words) != 32 {
				t.Errorf("from %d on: %d words for 2001 packets", from, len(r.words))
			}
		}
		r.Set(from + 1<<20)
		if r.Set(from + 64); len(r.words) != replayWords || !r.Fresh(from+1<<20-100) {
			t.Errorf("from %d on: %d words after a jump", from, len(r.words))
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	var r Replay
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if n++; r.Fresh(n) {
			r.Set(n)
		}
	}
}
