package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"golang.org/x/sys/unix"
)

// The formats of the log.
const (
	logText    = "text"
	logJSON    = "json"
	logJournal = "journal"
)

var logFormats = []string{logText, logJSON, logJournal}

// logFormat returns the format that was asked for, or else the one that the reader of
// standard error understands.
func logFormat(asked string) (string, error) {
	switch {
	case asked == "" && toJournal():
		return logJournal, nil
	case asked == "":
		return logText, nil
	case slices.Contains(logFormats, asked):
		return asked, nil
	}
	return "", usagef("no log format is named %.32q; there are %s", asked, strings.Join(logFormats, ", "))
}

// toJournal reports whether standard error is a stream to the journal, by the
// rule of systemd.exec(5), $JOURNAL_STREAM.
func toJournal() bool {
	var st unix.Stat_t
	if err := unix.Fstat(int(os.Stderr.Fd()), &st); err != nil {
		return false
	}
	return os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// errorPrefix is what tells the journal that a line is an error.
func errorPrefix() string {
	if toJournal() {
		return fmt.Sprintf("<%d>", events.Error.Priority())
	}
	return ""
}

// newHandler returns what writes the log in a format.
func newHandler(out io.Writer, format string) slog.Handler {
	if format == logJSON {
		return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: nameLevel})
	}
	return &lineHandler{out: &syncWriter{w: out}, journal: format == logJournal}
}

// levels are those of slog. It has none between information and a warning.
var levels = map[events.Level]slog.Level{
	events.Debug: slog.LevelDebug, events.Info: slog.LevelInfo, events.Notice: slog.LevelInfo + 2,
	events.Warning: slog.LevelWarn, events.Error: slog.LevelError,
}

// levelOf returns the level of an event that is logged as l.
func levelOf(l slog.Level) events.Level {
	switch {
	case l < slog.LevelInfo:
		return events.Debug
	case l < levels[events.Notice]:
		return events.Info
	case l < slog.LevelWarn:
		return events.Notice
	case l < slog.LevelError:
		return events.Warning
	}
	return events.Error
}

// nameLevel gives the levels of events the names that `srdtun events` has for them.
func nameLevel(_ []string, a slog.Attr) slog.Attr {
	if l, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
		a.Value = slog.StringValue(levelOf(l).String())
	}
	return a
}

// kindKey is the attribute that has an event's kind.
const kindKey = "kind"

// logTo returns what writes events to a log. Where nobody takes them, there is nobody to
// tell that.
func logTo(h slog.Handler) func(events.Event) {
	return func(e events.Event) { _ = h.Handle(context.Background(), record(&e)) }
}

// record is an event as a record of the log.
func record(e *events.Event) slog.Record {
	r := slog.NewRecord(e.Time, levels[e.Level], e.Text, 0)
	r.AddAttrs(slog.String(kindKey, string(e.Kind)))
	if e.Peer != "" {
		r.AddAttrs(slog.String("peer", e.Peer))
	}
	if e.LeftOut > 0 {
		r.AddAttrs(slog.Uint64("left_out", e.LeftOut))
	}
	for _, k := range slices.Sorted(maps.Keys(e.Attributes)) {
		r.AddAttrs(slog.String(k, e.Attributes[k]))
	}
	return r
}

// lineHandler writes a record as a line for people: time, level, kind and text, which has
// all that the attributes have. The journal adds time and name itself, and is told the
// level by a number in front (sd-daemon(3)).
type lineHandler struct {
	out     io.Writer
	journal bool
}

// Enabled implements slog.Handler: what comes was chosen already.
func (h *lineHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. Lines for people have none.
func (h *lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	kind := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == kindKey {
			kind = a.Value.String() + ": "
		}
		return kind == ""
	})
	level := levelOf(r.Level)
	if h.journal {
		_, err := fmt.Fprintf(h.out, "<%d>%s%s\n", level.Priority(), kind, r.Message)
		return err
	}
	_, err := fmt.Fprintf(h.out, "%s %-7s %s%s\n", stamp(r.Time), level, kind, r.Message)
	return err
}

// stamp writes a moment of this machine's time, to the millisecond.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// syncWriter lets one line through at a time.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
