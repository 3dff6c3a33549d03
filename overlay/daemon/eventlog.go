package daemon

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/dashboard"
	"github.com/srdtun/srdtun/overlay/events"
)

// eventLog keeps the events of this interface. A separate goroutine writes the events to the log,
// because a slow journal must not delay a peer.
type eventLog struct {
	run  string // identifies this process
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

// add adds an event with the current time. A nil log drops the event.
func (s *eventLog) add(e events.Event) {
	if s == nil {
		return
	}
	e.Time = time.Now()
	s.change(func(l *events.Log) { l.Add(e) })
}

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
		default: // the writer is awake
		}
	}
}

// after returns the events with numbers greater than n.
func (s *eventLog) after(n uint64) control.Happened {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, missed := s.log.After(n)
	return control.Happened{Run: s.run, Missed: missed, Last: s.log.Last(), Events: v}
}

// page returns the events with numbers greater than n for the dashboard's page. The method
// page() leaves out debug events.
func (s *eventLog) page(n uint64) (v []dashboard.Event) {
	for _, e := range s.after(n).Events {
		if e.Level > events.Debug {
			text := strings.TrimPrefix(e.Text, "peer "+e.Peer+": ") // the page shows the name separately
			v = append(v, dashboard.Event{Number: e.Number, UnixMs: e.Time.UnixMilli(), Level: e.Level.String(), Peer: e.Peer, Text: text})
		}
	}
	return v
}

// lastWords bounds how long the process waits at its end until the last events are written to the
// log.
const lastWords = time.Second

// write passes every event to a log until the returned function end() is called. The
// function end() returns when all events have been passed to the log.
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

func (l *eventLog) tell(kind events.Kind, subject, format string, args ...any) {
	l.add(events.Event{Kind: kind, Subject: subject, Text: fmt.Sprintf(format, args...)})
}

func (l *eventLog) tellOf(p *config.Peer, kind events.Kind, subject, format string, args ...any) {
	title := p.Title()
	l.add(events.Event{Kind: kind, Peer: title, Guest: p.Guest, Subject: subject, Text: "peer " + title + ": " + fmt.Sprintf(format, args...)})
}

// tellGuest adds an event that the owner of a drop-in directory has caused.
func (l *eventLog) tellGuest(kind events.Kind, subject, format string, args ...any) {
	l.add(events.Event{Kind: kind, Guest: true, Subject: subject, Text: fmt.Sprintf(format, args...)})
}

// teller returns tellGuest if `guest` is set, else tell.
func (l *eventLog) teller(guest bool) func(kind events.Kind, subject, format string, args ...any) {
	if guest {
		return l.tellGuest
	}
	return l.tell
}
