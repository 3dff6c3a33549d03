// Package logline writes the logs of srdtun and its agents: one line for each record, in one of
// three formats. All programs use the levels of package events. Each line has the order time,
// level, kind, text.
package logline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/events"
	"golang.org/x/sys/unix"
)

// A log has the format Text, JSON or Journal.
const (
	Text    = "text"
	JSON    = "json"
	Journal = "journal"
)

var formats = []string{Text, JSON, Journal}

// Usage is the help text of an option for the log's format.
const Usage = "`FORMAT` of the log: text, json or journal (default: journal if systemd reads it, else text)"

// Format returns the requested format. By default, the format is Journal if the journal reads
// standard error, and Text otherwise.
func Format(asked string) (string, error) {
	switch {
	case asked == "" && toJournal():
		return Journal, nil
	case asked == "":
		return Text, nil
	case slices.Contains(formats, asked):
		return asked, nil
	}
	return "", fmt.Errorf("no log format is named %s; there are %s", keytext.Quote(asked), strings.Join(formats, ", "))
}

// toJournal reports whether standard error is a stream to the journal, by the rule of
// systemd.exec(5) for $JOURNAL_STREAM.
func toJournal() bool {
	var st unix.Stat_t
	if err := unix.Fstat(int(os.Stderr.Fd()), &st); err != nil {
		return false
	}
	return os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// ErrorPrefix returns the prefix that marks a line as an error for the journal.
func ErrorPrefix() string {
	if toJournal() {
		return fmt.Sprintf("<%d>", events.Error.Priority())
	}
	return ""
}

// New returns a handler that writes the log in a format.
func New(out io.Writer, format string) slog.Handler {
	if format == JSON {
		return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: nameLevel})
	}
	return &lineHandler{out: &syncWriter{w: out}, journal: format == Journal}
}

// levels maps levels of events to levels of slog. Slog itself has no level between information
// and warning, so that one gets a number between them.
var levels = map[events.Level]slog.Level{
	events.Debug: slog.LevelDebug, events.Info: slog.LevelInfo, events.Notice: slog.LevelInfo + 2,
	events.Warning: slog.LevelWarn, events.Error: slog.LevelError,
}

// levelOf returns the event level of l.
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

// nameLevel gives levels the names that `srdtun events` prints.
func nameLevel(_ []string, a slog.Attr) slog.Attr {
	if l, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
		a.Value = slog.StringValue(levelOf(l).String())
	}
	return a
}

// kindKey is the attribute with an event's kind.
const kindKey = "kind"

// Events returns a function that writes events to a log. The function ignores errors, because
// there is no other place to report them.
func Events(h slog.Handler) func(events.Event) {
	return func(e events.Event) { _ = h.Handle(context.Background(), record(&e)) }
}

// record converts an event into a record of the log.
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

// lineHandler writes a record as a line for people: time, level, kind, text. The text of an
// event already contains the values of its attributes. In other records the attributes follow
// the text as key=value. For the journal, which adds time and name itself, the line begins with
// a number for the level (sd-daemon(3)).
type lineHandler struct {
	out     io.Writer
	journal bool
}

// Enabled implements slog.Handler. The caller has already chosen the records.
func (h *lineHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. Lines for people have no common attributes.
func (h *lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	kind, rest := "", ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == kindKey {
			kind, rest = a.Value.String()+": ", ""
			return false
		}
		rest += " " + a.Key + "=" + quoted(a.Value.String())
		return true
	})
	level := levelOf(r.Level)
	if h.journal {
		_, err := fmt.Fprintf(h.out, "<%d>%s%s%s\n", level.Priority(), kind, r.Message, rest)
		return err
	}
	_, err := fmt.Fprintf(h.out, "%s %-7s %s%s%s\n", Stamp(r.Time), level, kind, r.Message, rest)
	return err
}

// quoted quotes a value unless it is a plain word.
func quoted(v string) string {
	plain := func(r rune) bool { return r > ' ' && r < 0x7f && r != '"' && r != '=' }
	if v == "" || strings.ContainsFunc(v, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(v)
	}
	return v
}

// Stamp returns t as local time, to the millisecond.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }

// syncWriter serialises the writes of lines.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
