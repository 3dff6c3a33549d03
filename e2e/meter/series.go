// Package meter measures the results that applications get: iperf3's goodput over time,
// stalls, curl's downloads, and the time of small requests. All its programs are unmodified
// and know nothing of tunnels.
package meter

import "time"

// Interval is the goodput of one part of a run; times count from the beginning of the run.
type Interval struct {
	Start, End time.Duration
	BitsPerSec float64
}

// Series contains the intervals of a run, in order.
type Series []Interval

// stallShare is a share of the goodput before a fault. An interval with less than this share
// counts as stalled.
const stallShare = 0.1

// Mean returns the mean goodput, in bit/s, of the time from..to. A time without an interval
// counts as zero: nothing was reported, so nothing arrived.
func (s Series) Mean(from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	bits := 0.0
	for _, v := range s {
		if inside := min(v.End, to) - max(v.Start, from); inside > 0 {
			bits += v.BitsPerSec * inside.Seconds()
		}
	}
	return bits / (to - from).Seconds()
}

// Stall returns the longest time within from..to in which every interval was below a tenth of
// base, in bit/s. The time after the last report counts as a stall until to.
func (s Series) Stall(from, to time.Duration, base float64) time.Duration {
	var longest, current, last time.Duration
	for _, v := range s {
		if v.End <= from || v.Start >= to {
			continue
		}
		last = v.End
		if v.BitsPerSec < stallShare*base {
			current += v.End - v.Start
			longest = max(longest, current)
		} else {
			current = 0
		}
	}
	// A report that ends one interval early is no fault.
	if silence := to - max(last, from); silence > reportSlack {
		longest = max(longest, current+silence)
	}
	return longest
}

// reportSlack is the time that iperf3 may leave out at the end of a run.
const reportSlack = 500 * time.Millisecond

// End returns the time at which the last interval ends.
func (s Series) End() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].End
}
