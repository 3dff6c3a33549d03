// Package meter measures what applications get from a network: iperf3's goodput over time,
// stalls, curl's downloads, and response times. All measuring programs are unmodified, and need
// no support for tunnels.
package meter

import "time"

// Interval is the goodput in one part of a run; times count from the start of the run.
type Interval struct {
	Start, End time.Duration
	BitsPerSec float64
}

// Series contains the intervals of a run in order.
type Series []Interval

// stallShare is the share of the earlier goodput below which an interval counts as stalled.
const stallShare = 0.1

// Mean returns the mean goodput between two times, in bit/s. A time without a report counts as
// zero goodput, because nothing arrived.
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

// Stall returns the longest time between from and to in which every interval was below a tenth of
// base, in bit/s. The time between the last report and the end of the period counts as a stall.
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
	// iperf3 may leave out the last interval, which is not a stall.
	if silence := to - max(last, from); silence > reportSlack {
		longest = max(longest, current+silence)
	}
	return longest
}

// reportSlack is the time at the end of a run that iperf3 may leave out of its reports.
const reportSlack = 500 * time.Millisecond

// End returns the end of the last interval.
func (s Series) End() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].End
}
