// Package mono is the clock of the pure packages: nanoseconds on a monotonic clock with an
// arbitrary zero. A pure package never reads a clock. Every call has the time as an argument,
// and the time never decreases.
package mono

import "time"

// Time is a point on the monotonic clock, in nanoseconds. Where a deadline may be absent, the
// zero value means "no deadline".
type Time int64

// Granularity is the timer accuracy of an ordinary process. Timers of an ordinary process may be
// late by one Granularity, and the process may wait for a processor for as long. RFC 9002
// section 6.1.2 has the same value. Hardware timers are more accurate.
const Granularity = time.Millisecond

// Never is a deadline that is never reached.
const Never Time = 1<<63 - 1

// Add returns t + d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t - u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Stamp returns t as packets carry it: in microseconds, modulo 2^32.
func (t Time) Stamp() uint32 { return uint32(t / 1000) }

// Min returns the earlier of t and u.
func (t Time) Min(u Time) Time { return min(t, u) }
