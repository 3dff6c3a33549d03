package events

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// These are the limits for repeated reports.
const (
	// subjectBurst changes of one subject are reported at once: it may go and come back
	// twice. After that its latest state is reported every subjectEvery.
	subjectBurst = 4
	subjectEvery = 15 * time.Second
	// topicBurst subjects are reported at once, for instance peers that are lost together.
	// Later subjects are counted until the limit allows another, one every topicEvery.
	topicBurst = 64
	topicEvery = time.Second
	// countEvery is the interval at which the number of counted events is reported.
	countEvery = 5 * time.Second
	// maxSubjects bounds the table: all peers of the largest configuration (4,096), with a
	// few busy topics each. Further subjects share a limit.
	maxSubjects = 4 * 4096
)

// bucket is a token bucket. The zero value is full.
type bucket struct {
	used float64
	at   time.Time
}

// take takes a token, if there is one. If the clock was set back, no tokens are added.
func (b *bucket) take(now time.Time, burst float64, every time.Duration) bool {
	b.settle(now, every)
	if b.used+1 > burst {
		return false
	}
	b.used++
	return true
}

func (b *bucket) settle(now time.Time, every time.Duration) {
	if d := now.Sub(b.at); d > 0 {
		b.used = max(0, b.used-float64(d)/float64(every))
	}
	b.at = now
}

// subject names the subject of an event.
type subject struct {
	topic   Kind
	peer    string
	subject string
}

// limit is the limit of one subject.
type limit struct {
	bucket bucket
	held   *Event // the latest untold event; nil: none
	count  uint64 // untold events before held
}

// limits decides which events are reported. The zero value has reported none.
type limits struct {
	subjects map[subject]*limit
	topics   map[Kind]*bucket
	counted  map[Kind]uint64 // events that were only counted
	told     time.Time       // when the counts were last told
}

// admit returns e and true if e is to be reported now. Otherwise it holds e back or counts
// it.
func (l *limits) admit(topic Kind, e Event) (Event, bool) {
	s := l.of(topic, &e)
	if s.held != nil || !s.bucket.take(e.Time, subjectBurst, subjectEvery) {
		if s.held != nil {
			s.count++
		}
		s.held = &e
		return Event{}, false
	}
	return e, l.room(topic, &e)
}

// room reports whether the limit of e's topic allows e. If not, it counts e.
func (l *limits) room(topic Kind, e *Event) bool {
	b := l.topics[topic]
	if b == nil {
		if l.topics == nil {
			l.topics = map[Kind]*bucket{}
		}
		b = &bucket{at: e.Time}
		l.topics[topic] = b
	}
	if b.take(e.Time, topicBurst, topicEvery) {
		return true
	}
	if l.counted == nil {
		l.counted = map[Kind]uint64{}
	}
	l.counted[e.Kind] += 1 + e.LeftOut
	return false
}

// of returns the limit of e's subject.
func (l *limits) of(topic Kind, e *Event) *limit {
	k := subject{topic, e.Peer, e.Subject}
	s := l.subjects[k]
	if s == nil && len(l.subjects) >= maxSubjects {
		l.forget(e.Time)
		if len(l.subjects) >= maxSubjects {
			k = subject{topic: topic}
			s = l.subjects[k]
		}
	}
	if s != nil {
		return s
	}
	if l.subjects == nil {
		l.subjects = map[subject]*limit{}
	}
	s = &limit{bucket: bucket{at: e.Time}}
	l.subjects[k] = s
	return s
}

// forget drops limits that restrict nothing any more.
func (l *limits) forget(now time.Time) {
	for k, s := range l.subjects {
		if s.bucket.settle(now, subjectEvery); s.bucket.used == 0 && s.held == nil {
			delete(l.subjects, k)
		}
	}
}

// due returns the held events that may be reported now, in the order of time.
func (l *limits) due(now time.Time) (v []Event) {
	l.forget(now)
	for k, s := range l.subjects {
		if s.held == nil || !s.bucket.take(now, subjectBurst, subjectEvery) {
			continue
		}
		if e := s.release(); l.room(k.topic, &e) {
			v = append(v, e)
		}
	}
	return append(inOrder(v), l.counts(now, countEvery)...)
}

// all returns all held events.
func (l *limits) all(now time.Time) (v []Event) {
	for _, s := range l.subjects {
		if s.held != nil {
			v = append(v, s.release())
		}
	}
	return append(inOrder(v), l.counts(now, 0)...)
}

// release returns the held event of the limit.
func (s *limit) release() Event {
	e := *s.held
	if e.LeftOut = s.count; s.count > 0 {
		e.Text += fmt.Sprintf(" (earlier changes that were not reported: %d)", s.count)
	}
	s.held, s.count = nil, 0
	return e
}

// counts returns an event for each kind with counted events, at intervals of at least
// every.
func (l *limits) counts(now time.Time, every time.Duration) (v []Event) {
	if len(l.counted) == 0 || now.Sub(l.told) < every {
		return nil
	}
	for kind, n := range l.counted {
		v = append(v, Event{
			Time: now, Kind: kind, Level: Describe(kind).Level, LeftOut: n,
			Text: fmt.Sprintf("%d more events of this kind at the same time", n),
		})
	}
	clear(l.counted)
	l.told = now
	return inOrder(v)
}

// inOrder sorts by time, then by subject, because a map has no order.
func inOrder(v []Event) []Event {
	slices.SortFunc(v, func(a, b Event) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(string(a.Kind)+a.Peer+a.Subject, string(b.Kind)+b.Peer+b.Subject)
	})
	return v
}
