package meter

import (
	"math"
	"testing"
	"time"
)

// tenths returns a series of 100 ms intervals with the given rates in Mbit/s.
func tenths(mbit ...float64) Series {
	var s Series
	for i, v := range mbit {
		s = append(s, Interval{time.Duration(i) * sampleEvery, time.Duration(i+1) * sampleEvery, v * 1e6})
	}
	return s
}

func TestMean(t *testing.T) {
	s := tenths(10, 20, 30, 40)
	for _, c := range []struct {
		from, to time.Duration
		want     float64
	}{
		{0, 400 * time.Millisecond, 25e6},
		{100 * time.Millisecond, 300 * time.Millisecond, 25e6},
		{150 * time.Millisecond, 250 * time.Millisecond, 25e6},
		{0, 800 * time.Millisecond, 12.5e6},
		{200 * time.Millisecond, 200 * time.Millisecond, 0},
	} {
		if got := s.Mean(c.from, c.to); math.Abs(got-c.want) > 1 {
			t.Errorf("Mean(%v, %v) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestStall(t *testing.T) {
	const ms = time.Millisecond
	s := tenths(100, 0, 100, 5, 9, 0, 100, 11, 0, 0)
	for _, c := range []struct{ from, to, want time.Duration }{
		{0, 1000 * ms, 300 * ms},
		{600 * ms, 1000 * ms, 200 * ms},
		{0, 300 * ms, 100 * ms},
		{0, 3000 * ms, 2200 * ms},
		{5000 * ms, 9000 * ms, 4000 * ms},
	} {
		if got := s.Stall(c.from, c.to, 100e6); got != c.want {
			t.Errorf("Stall(%v, %v) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if got := tenths(100, 100).Stall(0, 300*ms, 100e6); got != 0 {
		t.Errorf("a report that ends 100 ms early is a stall of %v", got)
	}
}

func TestParseInterval(t *testing.T) {
	for _, c := range []struct {
		line string
		id   string
		want Interval
		ok   bool
	}{
		{"[  5]   0.10-0.20   sec  1.12 MBytes  94371 Kbits/sec                  ", "5", Interval{100 * time.Millisecond, 200 * time.Millisecond, 94.371e6}, true},
		{"[SUM]   0.00-0.10   sec  1.12 MBytes  4.50 Kbits/sec", "SUM", Interval{0, 100 * time.Millisecond, 4500}, true},
		{"[  5]   3.00-3.10   sec  0.00 Bytes  0.00 Kbits/sec", "5", Interval{3 * time.Second, 3100 * time.Millisecond, 0}, true},
		{"[  5]   0.00-10.00  sec   112 MBytes  94371 Kbits/sec                  receiver", "", Interval{}, false},
		{"[ ID] Interval           Transfer     Bitrate", "", Interval{}, false},
		{"-----", "", Interval{}, false},
		{"[  5] local 10.2.1.2 port 5201 connected to 10.1.1.2 port 38042", "", Interval{}, false},
	} {
		id, got, ok := parseInterval(c.line)
		if id != c.id || got != c.want || ok != c.ok {
			t.Errorf("%q: %q %+v %v", c.line, id, got, ok)
		}
	}
}
