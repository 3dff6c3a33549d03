package events

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// These constants limit repeated reports.
const (
	// The first subjectBurst changes of one subject are reported immediately. Then its latest state
	// is reported every subjectEvery.
	subjectBurst = 4
	subjectEvery = 15 * time.Second
	// For each kind of event, the first topicBurst subjects are reported immediately, and then one
	// subject every topicEvery. Events of subjects that are not reported are only counted.
	topicBurst = 64
	topicEvery = time.Second
	// countEvery is the interval at which the number of counted events is reported.
	countEvery = 5 * time.Second
	// maxSubjects bounds the number of rate limits. It is enough for the largest configuration of
	// 4,096 peers, with four busy kinds of events for each. Subjects beyond that number share one
	// limit.
	maxSubjects = 4 * 4096
)

// bucket is a token bucket. The zero value of bucket is a full bucket.
type bucket struct {
	used float64
	at   time.Time
}

// take removes a token, and reports whether the bucket had one. If the clock was set back,
// take() adds no tokens.
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

type subject struct {
	topic   Kind
	peer    string
	subject string
}

type limit struct {
	bucket bucket
	held   *Event // the latest unreported event; nil: none
	count  uint64 // number of unreported events before the event in the field held
}

// limits decides which events are reported. The zero value of limits is ready for use.
type limits struct {
	subjects map[subject]*limit
	topics   map[Kind]*bucket
	counted  map[Kind]uint64 // number of events that were only counted
	told     time.Time       // when the counts were last reported
}

// admit returns the event e and true if e may be reported now. If e may not be reported now,
// admit delays the event, or only counts it.
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

// room reports whether the rate limit for the kind of event e allows e. The method room() counts
// an event that is not allowed.
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

// of returns the rate limit for the subject of event e.
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

// forget deletes rate limits whose buckets are full again.
func (l *limits) forget(now time.Time) {
	for k, s := range l.subjects {
		if s.bucket.settle(now, subjectEvery); s.bucket.used == 0 && s.held == nil {
			delete(l.subjects, k)
		}
	}
}

// due returns the delayed events that may be reported now, sorted by time.
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

func (l *limits) all(now time.Time) (v []Event) {
	for _, s := range l.subjects {
		if s.held != nil {
			v = append(v, s.release())
		}
	}
	return append(inOrder(v), l.counts(now, 0)...)
}

func (s *limit) release() Event {
	e := *s.held
	if e.LeftOut = s.count; s.count > 0 {
		e.Text += fmt.Sprintf(" (earlier changes that were not reported: %d)", s.count)
	}
	s.held, s.count = nil, 0
	return e
}

// counts returns one event for each kind with counted events, if the interval `every` has passed
// since the last call.
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

// inOrder sorts events by time, then by subject, because they come from a map, which Go visits in
// random order.
func inOrder(v []Event) []Event {
	slices.SortFunc(v, func(a, b Event) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(string(a.Kind)+a.Peer+a.Subject, string(b.Kind)+b.Peer+b.Subject)
	})
	return v
}
