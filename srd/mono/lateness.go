package mono

import "time"

// Lateness measures how late a host handles due work. For a packet, it is the time from
// the kernel's stamp to its handling. For a timer, it is the time from the deadline to
// its handling. The zero value is ready; it is not safe for concurrent use.
type Lateness struct {
	mean, deviation time.Duration
	samples         int
}

const (
	// latenessPart sets the weight of a new sample, 1/32. A host that was busy for a
	// moment counts as busy for some hundred packets.
	latenessPart = 32
	// latenessDeviations is the number of deviations above the mean that few samples
	// exceed (RFC 6298 uses the same number in its timeout).
	latenessDeviations = 4
	// latenessSamples is the number of samples before the measured value is used.
	latenessSamples = 16
	// latenessMost bounds a sample. The sample of a stopped process says nothing about
	// its usual lateness, and should soon lose its effect.
	latenessMost = 10 * Granularity
)

// Add takes a sample; a negative one counts as zero.
func (l *Lateness) Add(d time.Duration) {
	d = max(0, min(d, latenessMost))
	if l.samples == 0 {
		l.mean = d
	}
	l.samples = min(l.samples+1, latenessSamples)
	l.deviation += ((d - l.mean).Abs() - l.deviation) / latenessPart
	l.mean += (d - l.mean) / latenessPart
}

// Value returns an upper estimate of the host's usual lateness. It returns Granularity
// while there are few samples, and never more than that.
func (l *Lateness) Value() time.Duration {
	if l.samples < latenessSamples {
		return Granularity
	}
	return min(Granularity, l.mean+latenessDeviations*l.deviation)
}
