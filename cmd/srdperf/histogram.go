package main

import (
	"math/bits"
	"time"
)

// The range from one power of two to the next has 64 buckets, so the error of a duration is at most
// 1.6%.
const (
	stepBits = 6
	steps    = 1 << stepBits
)

// histogram counts durations. The zero value of a histogram is empty. A histogram is not safe for
// concurrent use.
type histogram struct {
	counts   [steps * (65 - stepBits)]uint64
	n        uint64
	sum      time.Duration
	min, max time.Duration
}

func bucketOf(v uint64) int {
	e := max(0, bits.Len64(v)-stepBits-1)
	return e*steps + int(v>>e)
}

// bounds returns the first duration of a bucket, and the first duration of the next bucket.
func bounds(bucket int) (from, to time.Duration) {
	e := max(0, bucket/steps-1)
	v := bucket - e*steps
	return time.Duration(v << e), time.Duration((v + 1) << e)
}

func (h *histogram) add(d time.Duration) {
	d = max(0, d)
	h.counts[bucketOf(uint64(d))]++
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.n++
	h.sum += d
	h.max = max(h.max, d)
}

// merge adds the counts of the histogram o to h.
func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n, h.sum, h.max = h.n+o.n, h.sum+o.sum, max(h.max, o.max)
}

// quantile returns the duration below which the share q of all durations lies.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.n)), uint64(0)
	for i, n := range h.counts {
		if seen += n; seen > rank {
			_, to := bounds(i)
			return min(to-1, h.max)
		}
	}
	return h.max
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return h.sum / time.Duration(h.n)
}

// bar is a range of durations with its count.
type bar struct {
	From  int64  `json:"from_ns"`
	To    int64  `json:"to_ns"`
	Count uint64 `json:"count"`
}

// bars returns four bars for the range between two powers of two, from the first bar with a count
// to the last one.
func (h *histogram) bars() (v []bar) {
	const width = steps / 4
	for i := 0; i < len(h.counts); i += width {
		from, _ := bounds(i)
		_, to := bounds(i + width - 1)
		b := bar{From: int64(from), To: int64(to)}
		for _, n := range h.counts[i : i+width] {
			b.Count += n
		}
		if b.Count > 0 || len(v) > 0 {
			v = append(v, b)
		}
	}
	for len(v) > 0 && v[len(v)-1].Count == 0 {
		v = v[:len(v)-1]
	}
	return v
}
