package logline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"golang.org/x/sys/unix"
)

// moment is the event that the tests of formats write.
var moment = events.Event{
	Number: 7, Time: time.Date(2026, 3, 1, 3, 0, 0, 123456789, time.Local), Kind: events.PeerSilent, Level: events.Warning,
	Peer: "far", Text: "peer far: no answer for 5s", LeftOut: 2, Attributes: map[string]string{"why": "no answer", "at": "x"},
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{
		Text:    "2026-03-01 03:00:00.123 warning peer-silent: peer far: no answer for 5s\n",
		Journal: "<4>peer-silent: peer far: no answer for 5s\n",
	} {
		var out bytes.Buffer
		Events(New(&out, format))(moment)
		if out.String() != want {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
	}
	var out bytes.Buffer
	Events(New(&out, JSON))(moment)
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]any{
		"level": "warning", "msg": moment.Text, "kind": "peer-silent", "peer": "far", "left_out": 2.0, "why": "no answer", "at": "x",
	} {
		if got[k] != want {
			t.Errorf("json: %s is %v, want %v", k, got[k], want)
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, got["time"].(string)); err != nil || !at.Equal(moment.Time) {
		t.Errorf("json: time %v, %v", got["time"], err)
	}
}

// Each level has its priority in the journal, and its name elsewhere.
func TestLogLevels(t *testing.T) {
	for level, want := range map[events.Level]string{
		events.Debug: "<7>", events.Info: "<6>", events.Notice: "<5>", events.Warning: "<4>", events.Error: "<3>",
	} {
		e := moment
		e.Level = level
		var journal, text, asJSON bytes.Buffer
		Events(New(&journal, Journal))(e)
		Events(New(&text, Text))(e)
		Events(New(&asJSON, JSON))(e)
		if !strings.HasPrefix(journal.String(), want+"peer-silent: ") {
			t.Errorf("%v: %q, want %s in front", level, journal.String(), want)
		}
		if !strings.Contains(text.String(), " "+level.String()) || !strings.Contains(asJSON.String(), `"level":"`+level.String()+`"`) {
			t.Errorf("%v: %q, %q", level, text.String(), asJSON.String())
		}
	}
}

// Standard error is a stream to the journal if its device and inode numbers are those that
// systemd states.
func TestJournalIsFound(t *testing.T) {
	old := os.Stderr
	defer func() { os.Stderr = old }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	os.Stderr = w
	var st unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ stream, asked, want, prefix string }{
		{"", "", Text, ""},
		{fmt.Sprintf("%d:%d", st.Dev, st.Ino), "", Journal, "<3>"},
		{fmt.Sprintf("%d:%d", st.Dev, st.Ino), JSON, JSON, "<3>"},
		{fmt.Sprintf("%d:%d", st.Dev, st.Ino+1), "", Text, ""},
		{"nonsense", "", Text, ""},
	} {
		t.Setenv("JOURNAL_STREAM", c.stream)
		if got, err := Format(c.asked); got != c.want || err != nil || ErrorPrefix() != c.prefix {
			t.Errorf("JOURNAL_STREAM=%q, --log %q: %q, %v, prefix %q; want %q, %q", c.stream, c.asked, got, err, ErrorPrefix(), c.want, c.prefix)
		}
	}
}

// The attributes of a record that is no event follow the text. Agents report members in
// this way.
func TestAttributesFollowTheText(t *testing.T) {
	for format, want := range map[string]string{
		Text:    ` info    came member=db1 text="a \"b\" = c" n=3` + "\n",
		Journal: `<6>came member=db1 text="a \"b\" = c" n=3` + "\n",
		JSON:    `"level":"info","msg":"came","member":"db1","text":"a \"b\" = c","n":3}` + "\n",
	} {
		var out bytes.Buffer
		slog.New(New(&out, format)).Info("came", "member", "db1", "text", `a "b" = c`, "n", 3)
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
	}
}
