// Package stat computes quantiles of results. Both simulations and measurements use it.
package stat

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the smallest value x so that at least a share q of the values are at most x
// (nearest rank). If there are no values, it returns zero.
func Quantile[T cmp.Ordered](v []T, q float64) (x T) {
	if len(v) == 0 {
		return x
	}
	v = slices.Sorted(slices.Values(v))
	return v[max(0, int(math.Ceil(q*float64(len(v))))-1)]
}

// Median returns the middle value, or the mean of the two middle values. If there are no values, it
// returns NaN.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
