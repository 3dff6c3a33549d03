package rtt

import (
	"math"
	"time"
)

// line is a straight line through the samples of about a round trip, the least squares'.
// A queue stands still, or grows and falls with what is sent, which in that time is a
// straight line; what a radio link adds changes from one packet to the next.
type line struct {
	n      float32
	age, x float32 // means: seconds before the newest sample, and of round trip
	tt, tx float32 // sums of the squares and products of deviations from these
}

// add takes a sample, so long since the one before, and returns its distance from the line
// through those, over what that is in the mean where each deviates by 1: a recursive residual
// (Brown, Durbin and Evans 1975). The sum of their squares is that of the residuals of the
// whole line, and each is one degree of freedom. 0: there is no line yet.
func (l *line) add(since, sample time.Duration) (off time.Duration) {
	if l.n > 0 {
		l.age += float32(since.Seconds())
	}
	t, x := l.age, float32(sample.Seconds())-l.x
	if l.tt > 0 {
		d := math.Abs(float64(x-t*l.tx/l.tt)) / math.Sqrt(float64(1+1/l.n+t*t/l.tt))
		off = max(1, time.Duration(d*float64(time.Second)))
	}
	l.n++
	l.age -= t / l.n
	l.x += x / l.n
	part := 1 - 1/l.n
	l.tt += part * t * t
	l.tx += part * t * x
	return off
}

// length is from the first sample to the newest, about: the mean is half as old.
func (l *line) length() time.Duration { return time.Duration(2 * l.age * float32(time.Second)) }
