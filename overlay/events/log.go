package events

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Kept is the number of events that a Log holds for each origin. They take a few hundred KB.
const Kept = 1000

// Events originate from root's part of the configuration, or from peers that another user has
// added.
const (
	ofRoot = iota
	ofGuests
	origins
)

func (e *Event) origin() int {
	if e.Guest {
		return ofGuests
	}
	return ofRoot
}

// Log holds the newest events of an interface. The zero value of Log reports events of all
// levels. A Log is not safe for concurrent use.
type Log struct {
	Least Level // events below this level are dropped

	rings  [origins]ring
	last   uint64 // number of the newest event
	limits [origins]limits
}

// ring holds the newest Kept events of one origin.
type ring struct {
	events []Event
	next   int // index of the next event; if the ring is full, also of the oldest one
}

func (r *ring) add(e Event) {
	if len(r.events) < Kept {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % Kept
}

func (r *ring) after(n uint64) (v []Event) {
	k := len(r.events)
	from := sort.Search(k, func(i int) bool { return r.events[(r.next+i)%k].Number > n })
	for i := from; i < k; i++ {
		v = append(v, r.events[(r.next+i)%k])
	}
	return v
}

// Add takes an event whose Time is set. The event is reported immediately, is reported later by
// Advance, or is only counted.
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
	if told, ok := l.limits[e.origin()].admit(about.Topic, e); ok {
		l.append(told)
	}
}

// Advance reports the delayed events that are now due. The daemon calls Advance about once a
// second.
func (l *Log) Advance(now time.Time) {
	for i := range l.limits {
		for _, e := range l.limits[i].due(now) {
			e.Guest = i == ofGuests
			l.append(e)
		}
	}
}

// Flush reports all delayed events.
func (l *Log) Flush(now time.Time) {
	for i := range l.limits {
		for _, e := range l.limits[i].all(now) {
			e.Guest = i == ofGuests
			l.append(e)
		}
	}
}

func (l *Log) append(e Event) {
	l.last++
	e.Number = l.last
	l.rings[e.origin()].add(e)
}

// Last returns the number of the newest event, or 0.
func (l *Log) Last() uint64 { return l.last }

// After returns the events with numbers above n, oldest first. The result `missed` is the
// number of events above n that have already left their ring.
func (l *Log) After(n uint64) (v []Event, missed uint64) {
	if n >= l.last {
		return nil, 0
	}
	for i := range l.rings {
		v = append(v, l.rings[i].after(n)...)
	}
	slices.SortFunc(v, func(a, b Event) int { return cmp.Compare(a.Number, b.Number) })
	return v, l.last - n - uint64(len(v))
}
