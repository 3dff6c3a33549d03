package mono

import "time"

// Lateness measures how late a host handles what is due: from the kernel's stamp on a
// packet to its handling, and from the time that a timer was set for to what it makes the
// host do. It is useful at its zero value, and not safe for concurrent use.
type Lateness struct {
	mean, deviation time.Duration
	samples         int
}

const (
	// latenessPart is the weight of a new sample, 1/32: a host that was busy for a moment
	// is taken for a busy one for some hundred packets.
	latenessPart = 32
	// latenessDeviations above the mean only few are later (RFC 6298 has as many in its
	// timeout).
	latenessDeviations = 4
	// latenessSamples are needed before the measurement is taken for true.
	latenessSamples = 16
	// latenessMost bounds a sample. A process that was stopped says nothing of how it
	// runs, and is forgotten soon.
	latenessMost = 10 * Granularity
)

// Add takes a sample; what cannot be counts as none.
func (l *Lateness) Add(d time.Duration) {
	d = max(0, min(d, latenessMost))
	if l.samples == 0 {
		l.mean = d
	}
	l.samples = min(l.samples+1, latenessSamples)
	l.deviation += ((d - l.mean).Abs() - l.deviation) / latenessPart
	l.mean += (d - l.mean) / latenessPart
}

// Value returns how late the host is at most, as a rule: no more than Granularity, which
// it is as long as little was measured.
func (l *Lateness) Value() time.Duration {
	if l.samples < latenessSamples {
		return Granularity
	}
	return min(Granularity, l.mean+latenessDeviations*l.deviation)
}
