package rtt

import (
	"math"
	"time"
)

// line is the least-squares straight line through the samples of about one round trip. Within
// that time a queue stands, grows or drains along a line. The jitter of a radio link changes from
// packet to packet.
type line struct {
	n      float32
	age, x float32 // means: age in seconds before the newest sample, and round trip
	tt, tx float32 // sums of the squares and of the products of deviations from these means
}

// add adds a sample, taken since after the last one. It returns the sample's distance from the
// line through the earlier ones, scaled as a recursive residual (Brown, Durbin and Evans 1975).
// The squares then have the same sum as the residuals of the whole line, and each sample adds one
// degree of freedom. If there is no line yet, add returns 0.
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

// length is about the time from the first sample to the newest: twice their mean age.
func (l *line) length() time.Duration { return time.Duration(2 * l.age * float32(time.Second)) }
