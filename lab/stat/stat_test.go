package stat

import (
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var v []time.Duration
	for i := range 100 {
		v = append(v, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.9: 90, 0.99: 99, 1: 100} {
		if got := Quantile(v, q); got != want {
			t.Errorf("quantile %v of 1..100 is %d, want %d", q, got, want)
		}
	}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := Quantile([]float64{4, 1, 3, 2}, q); got != want {
			t.Errorf("quantile %v of 1..4 is %v, want %v", q, got, want)
		}
	}
	if got := Quantile([]float64{7}, 0.99) + Quantile[float64](nil, 0.5); got != 7 {
		t.Errorf("of one value and of none: %v", got)
	}
}

func TestMedian(t *testing.T) {
	v := []float64{4, 1, 3, 2}
	if a, b := Median(v), Median(v[:3]); a != 2.5 || b != 3 || v[0] != 4 || !math.IsNaN(Median(nil)) {
		t.Errorf("%v of four, %v of three, %v left", a, b, v)
	}
}
