package events

import "time"

// Kept is the number of events that a Log holds: days of a quiet interface, in a few
// hundred KB.
const Kept = 1000

// Log holds the newest events. The zero value reports all levels. It is not safe for
// concurrent use.
type Log struct {
	Least Level // events below are dropped

	ring   []Event // the event with number n is at (n-1) % Kept
	last   uint64  // number of the newest
	limits limits
}

// Add takes an event with its Time set. The event is reported at once, or later by
// Advance, or only counted.
func (l *Log) Add(e Event) {
	about := Describe(e.Kind)
	e.Level = about.Level
	if e.Roams && roaming[e.Kind] {
		e.Level = min(e.Level, Notice)
	}
	if e.Level < l.Least {
		return
	}
	e = e.clean()
	if told, ok := l.limits.admit(about.Topic, e); ok {
		l.append(told)
	}
}

// Advance reports the held events that are due. The caller calls it about once a second.
func (l *Log) Advance(now time.Time) {
	for _, e := range l.limits.due(now) {
		l.append(e)
	}
}

// Flush reports all held events.
func (l *Log) Flush(now time.Time) {
	for _, e := range l.limits.all(now) {
		l.append(e)
	}
}

func (l *Log) append(e Event) {
	l.last++
	e.Number = l.last
	if len(l.ring) < Kept {
		l.ring = append(l.ring, e)
		return
	}
	l.ring[(e.Number-1)%Kept] = e
}

// Last returns the number of the newest event, or 0.
func (l *Log) Last() uint64 { return l.last }

// After returns the events with a number above n, oldest first. It also returns how many
// of these have already left the ring.
func (l *Log) After(n uint64) (v []Event, missed uint64) {
	if n >= l.last {
		return nil, 0
	}
	first := l.last - uint64(len(l.ring)) // number before the oldest
	if n < first {
		n, missed = first, first-n
	}
	for ; n < l.last; n++ {
		v = append(v, l.ring[n%Kept])
	}
	return v, missed
}
