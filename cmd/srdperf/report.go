package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// result is one row of the report: the figures of one message size.
type result struct {
	Mode        string  `json:"mode"`
	Size        int     `json:"size"`
	Depth       int     `json:"depth"`
	Flows       int     `json:"flows"` // number of pairs of endpoints
	Messages    uint64  `json:"messages"`
	Bytes       uint64  `json:"bytes"` // payload bytes in one direction
	Seconds     float64 `json:"seconds"`
	BytesPerSec float64 `json:"bytes_per_second"`
	PerSec      float64 `json:"messages_per_second"`
	Interrupted bool    `json:"interrupted,omitempty"`
	// Slowest and Fastest are the rates of the slowest and the fastest flow, in messages per
	// second.
	Slowest   float64 `json:"slowest_flow"`
	Fastest   float64 `json:"fastest_flow"`
	Latency   latency `json:"latency_ns"`
	Histogram []bar   `json:"histogram"`
}

type latency struct {
	Min  int64 `json:"min"`
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99_9"`
	Max  int64 `json:"max"`
}

// newResult makes a row from the measurements of all endpoints.
func newResult(mode string, size, depth int, all []*tally) result {
	r := result{Mode: mode, Size: size, Depth: depth}
	var h histogram
	var took time.Duration
	var rates []float64
	for _, t := range all {
		h.merge(&t.hist)
		took = max(took, t.took)
		for _, n := range t.each {
			rates = append(rates, per(n, t.took))
		}
	}
	r.Flows, r.Messages, r.Bytes, r.Seconds = len(rates), h.n, h.n*uint64(size), took.Seconds()
	r.PerSec, r.BytesPerSec = per(h.n, took), per(r.Bytes, took)
	if len(rates) > 0 {
		r.Slowest, r.Fastest = slices.Min(rates), slices.Max(rates)
	}
	r.Latency = latency{
		Min: int64(h.min), Mean: int64(h.mean()), Max: int64(h.max),
		P50: int64(h.quantile(.5)), P90: int64(h.quantile(.9)), P99: int64(h.quantile(.99)), P999: int64(h.quantile(.999)),
	}
	r.Histogram = h.bars()
	return r
}

func per(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// table prints each row as soon as it was measured.
type table struct {
	out       io.Writer
	json      bool
	histogram bool
	begun     bool
}

func (t *table) add(r result) error {
	if t.json {
		return json.NewEncoder(t.out).Encode(r)
	}
	// Rows are printed one at a time, so a minimum cell width aligns the columns.
	w := tabwriter.NewWriter(t.out, 11, 0, 1, ' ', tabwriter.AlignRight)
	if !t.begun {
		t.begun = true
		fmt.Fprintln(w, "bytes\tmessages\tMB/s\tmessages/s\tp50\tp99\tp99.9\tmax\t")
	}
	l := &r.Latency
	fmt.Fprintf(w, "%d\t%d\t%.2f\t%.0f\t%s\t%s\t%s\t%s\t\n", r.Size, r.Messages, r.BytesPerSec/1e6, r.PerSec, brief(l.P50), brief(l.P99), brief(l.P999), brief(l.Max))
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Flows > 1 {
		fmt.Fprintf(t.out, "%d flows: slowest %.0f messages/s, fastest %.0f\n", r.Flows, r.Slowest, r.Fastest)
	}
	if t.histogram {
		return draw(t.out, r.Histogram)
	}
	return nil
}

// drawWidth is the length of the longest bar, in characters.
const drawWidth = 50

// draw prints a histogram as bars.
func draw(out io.Writer, bars []bar) error {
	most := uint64(1)
	for _, b := range bars {
		most = max(most, b.Count)
	}
	for _, b := range bars {
		n := int((b.Count*drawWidth + most - 1) / most)
		if _, err := fmt.Fprintf(out, "%11s %10d %s\n", brief(b.From), b.Count, strings.Repeat("#", n)); err != nil {
			return err
		}
	}
	return nil
}

// brief prints a duration with three digits.
func brief(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d >= 100*time.Microsecond:
		return fmt.Sprintf("%.2fms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1fus", d.Seconds()*1e6)
}
