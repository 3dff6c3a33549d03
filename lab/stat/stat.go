// Package stat computes the quantiles that results have. Experiments of the laboratory and
// measurements share it.
package stat

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the smallest of the values that a share q of them does not exceed (nearest
// rank). Without values Quantile returns zero.
func Quantile[T cmp.Ordered](v []T, q float64) (x T) {
	if len(v) == 0 {
		return x
	}
	v = slices.Sorted(slices.Values(v))
	return v[max(0, int(math.Ceil(q*float64(len(v))))-1)]
}

// Median returns the middle value, or the mean of the two middle values. Without values Median
// returns NaN.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
