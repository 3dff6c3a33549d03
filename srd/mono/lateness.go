package mono

import "time"

// Lateness measures how late a process of this host handles packets and timers. For a packet,
// the lateness is the time from the kernel's timestamp to its handling. For a timer, it is the
// time from the deadline to its handling. The zero value of a Lateness is ready for use. A
// Lateness is not safe for concurrent use.
type Lateness struct {
	mean, deviation time.Duration
	samples         int
}

const (
	// latenessPart: a new sample has the weight 1/latenessPart. So a short delay of the host
	// affects the value for some hundred packets.
	latenessPart = 32
	// latenessDeviations is the number of mean deviations above the mean that few samples exceed.
	// RFC 6298 uses the same number in its timeout.
	latenessDeviations = 4
	// latenessSamples is the number of samples before the measured value is used.
	latenessSamples = 16
	// latenessMost bounds a sample. A sample from a process that was stopped says nothing about
	// the normal lateness, and should soon lose its effect.
	latenessMost = 10 * Granularity
)

// Add adds a sample. A negative sample counts as zero.
func (l *Lateness) Add(d time.Duration) {
	d = max(0, min(d, latenessMost))
	if l.samples == 0 {
		l.mean = d
	}
	l.samples = min(l.samples+1, latenessSamples)
	l.deviation += ((d - l.mean).Abs() - l.deviation) / latenessPart
	l.mean += (d - l.mean) / latenessPart
}

// Value returns an upper estimate of the host's normal lateness: the mean plus
// latenessDeviations mean deviations. With few samples, the result is Granularity, which is
// also the largest result.
func (l *Lateness) Value() time.Duration {
	if l.samples < latenessSamples {
		return Granularity
	}
	return min(Granularity, l.mean+latenessDeviations*l.deviation)
}
