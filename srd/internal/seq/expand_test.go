package seq

import (
	"testing"

	"pgregory.net/rapid"
)

// expandTwin tries the three numbers with these low bits that are nearest to `reference`.
func expandTwin(low uint32, reference uint64) uint64 {
	high := reference >> 32
	best, least := uint64(0), ^uint64(0)
	for _, h := range []uint64{high - 1, high, high + 1} {
		if h > 1<<32-1 {
			continue
		}
		n := h<<32 | uint64(low)
		if d := max(n, reference) - min(n, reference); d < least {
			best, least = n, d
		}
	}
	return best
}

func TestExpandAgainstItsTwin(t *testing.T) {
	edges := rapid.SampledFrom([]uint64{0, 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 3 << 31, 5 << 32, 1 << 40, 1<<62 + 1<<32})
	rapid.Check(t, func(t *rapid.T) {
		reference := edges.Draw(t, "edge") + rapid.Uint64Range(0, 4).Draw(t, "beside")
		// At a distance of exactly half the number space, there is no single nearest number.
		low := uint32(reference) + uint32(rapid.Int64Range(-1<<31+1, 1<<31-1).Draw(t, "distance"))
		if got, want := Expand(low, reference), expandTwin(low, reference); got != want {
			t.Fatalf("Expand(%#x, %#x) = %#x, want %#x", low, reference, got, want)
		}
	})
}

// Any number that a sender may have in flight is expanded correctly.
func TestExpandTruncated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reference := rapid.Uint64Range(0, 1<<62).Draw(t, "reference")
		n := reference + rapid.Uint64Range(0, WindowSize).Draw(t, "ahead")
		if rapid.Bool().Draw(t, "behind") {
			n = reference - min(reference, n-reference)
		}
		if got := Expand(uint32(n), reference); got != n {
			t.Fatalf("Expand(%#x, %#x) = %#x, want %#x", uint32(n), reference, got, n)
		}
	})
}

// Near zero the nearest number might be negative: then the one above zero is returned.
func TestExpandNearZero(t *testing.T) {
	for _, c := range []struct {
		low       uint32
		reference uint64
		want      uint64
	}{
		{0, 0, 0},
		{1<<32 - 1, 0, 1<<32 - 1},
		{1<<32 - 1, 1, 1<<32 - 1},
		{1<<32 - 1, 1 << 32, 1<<32 - 1},
		{0, 1<<32 - 1, 1 << 32},
		{5, 1<<32 - 1, 1<<32 + 5},
		{1<<32 - 5, 1<<32 + 3, 1<<32 - 5},
	} {
		if got := Expand(c.low, c.reference); got != c.want {
			t.Errorf("Expand(%#x, %#x) = %#x, want %#x", c.low, c.reference, got, c.want)
		}
	}
}
