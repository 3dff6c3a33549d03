package blackhole

import (
	"testing"
	"time"
)

// points returns samples that are 5 ms apart, with the given number of bytes in each.
func points(bytes ...int64) []point {
	now, sum := time.Unix(0, 0), int64(0)
	v := []point{{now, []int64{0}}}
	for _, n := range bytes {
		now, sum = now.Add(sample), sum+n
		v = append(v, point{now, []int64{sum}})
	}
	return v
}

func TestLongest(t *testing.T) {
	first := func(p point) int64 { return p.got[0] }
	for _, c := range []struct {
		bytes []int64
		want  float64
	}{
		{[]int64{1000, 1000}, 0},
		{[]int64{1000, 0, 0, 0, 1000, 0}, 15},
		{[]int64{0, 1000, 0, 99, 0, 0}, 20},
		{[]int64{100, 99, 101}, 5},
	} {
		// 100 bytes in 5 ms are 0.16 Mbit/s.
		if got := longest(points(c.bytes...), 0.16, first); got != c.want {
			t.Errorf("%v: %v ms, want %v", c.bytes, got, c.want)
		}
	}
}

func TestGrown(t *testing.T) {
	was := map[string]uint64{"a": 3, "b": 1}
	if got := grown(map[string]uint64{"c": 2, "b": 1, "a": 7}, was); got != ", a +4, c +2" {
		t.Errorf("%q", got)
	}
}
