package daemon

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/dashboard"
	"github.com/srdtun/srdtun/overlay/events"
)

// eventLog keeps the events of this interface. A goroutine of its own writes them out, since a
// journal may be slow, and no peer is to wait for it.
type eventLog struct {
	run  string // this process's
	news chan struct{}

	mu  sync.Mutex
	log events.Log
}

func newEventLog(verbose bool) *eventLog {
	s := &eventLog{run: strconv.FormatUint(random64(), 16), news: make(chan struct{}, 1), log: events.Log{Least: events.Info}}
	if verbose {
		s.log.Least = events.Debug
	}
	return s
}

// add tells what happened now. Without a story nobody listens.
func (s *eventLog) add(e events.Event) {
	if s == nil {
		return
	}
	e.Time = time.Now()
	s.change(func(l *events.Log) { l.Add(e) })
}

// advance tells what was held back until now.
func (s *eventLog) advance() {
	s.change(func(l *events.Log) { l.Advance(time.Now()) })
}

func (s *eventLog) change(f func(*events.Log)) {
	s.mu.Lock()
	before := s.log.Last()
	f(&s.log)
	more := s.log.Last() > before
	s.mu.Unlock()
	if more {
		select {
		case s.news <- struct{}{}:
		default: // it is awake
		}
	}
}

// after returns what happened after the event with that number.
func (s *eventLog) after(n uint64) control.Happened {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, missed := s.log.After(n)
	return control.Happened{Run: s.run, Missed: missed, Last: s.log.Last(), Events: v}
}

// page is after for a page, which shows all but what is for finding faults in here.
func (s *eventLog) page(n uint64) (v []dashboard.Event) {
	for _, e := range s.after(n).Events {
		if e.Level > events.Debug {
			text := strings.TrimPrefix(e.Text, "peer "+e.Peer+": ") // the page has the name apart
			v = append(v, dashboard.Event{Number: e.Number, UnixMs: e.Time.UnixMilli(), Level: e.Level.String(), Peer: e.Peer, Text: text})
		}
	}
	return v
}

// lastWords bounds the wait for a log that takes nothing, at the end.
const lastWords = time.Second

// write gives every event to a log until end is called, which returns when it has all of
// them.
func (s *eventLog) write(to func(events.Event)) (end func()) {
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var last uint64
		for on := true; on; {
			select {
			case <-s.news:
			case <-ending:
				on = false
			}
			last = s.writeAfter(last, to)
		}
	}()
	return func() {
		s.change(func(l *events.Log) { l.Flush(time.Now()) })
		close(ending)
		select {
		case <-ended:
		case <-time.After(lastWords):
		}
	}
}

// writeAfter gives what came after the event with number last to a log.
func (s *eventLog) writeAfter(last uint64, to func(events.Event)) uint64 {
	h := s.after(last)
	if h.Missed > 0 {
		to(events.Event{
			Time: time.Now(), Kind: events.Note, Level: events.Warning,
			Text: fmt.Sprintf("%d events are not in this log, which was not read in time", h.Missed),
		})
	}
	for _, e := range h.Events {
		to(e)
	}
	return h.Last
}

// tell tells of something that is about no peer.
func (l *eventLog) tell(kind events.Kind, subject, format string, args ...any) {
	l.add(events.Event{Kind: kind, Subject: subject, Text: fmt.Sprintf(format, args...)})
}

// tellOf tells of the peer of that title.
func (l *eventLog) tellOf(peer string, kind events.Kind, subject, format string, args ...any) {
	l.add(events.Event{Kind: kind, Peer: peer, Subject: subject, Text: "peer " + peer + ": " + fmt.Sprintf(format, args...)})
}
