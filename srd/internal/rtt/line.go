package rtt

import (
	"math"
	"time"
)

// line is the least-squares straight line through the samples of about one round trip.
// Within one round trip the length of a queue follows a straight line. The jitter of a
// radio link changes from packet to packet.
type line struct {
	n      float32
	age, x float32 // means: age in seconds before the newest sample, and round trip
	tt, tx float32 // sums of the squares and of the products of deviations from these means
}

// add adds a sample. The parameter `since` is the time between the last sample and this
// one. The result is the sample's distance from the line through the earlier samples,
// scaled as a recursive residual (Brown, Durbin and Evans 1975). With this scale, the
// squares of the distances have the same sum as the squared residuals of the line through
// all samples, and each sample adds one degree of freedom. If there are too few samples for
// a line, add() returns 0.
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

// length returns the approximate time from the first sample to the newest: twice the mean
// age of the samples.
func (l *line) length() time.Duration { return time.Duration(2 * l.age * float32(time.Second)) }
