package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after returns the time s seconds after noon.
func after(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }

func peer(kind Kind, name string, at float64) Event {
	return Event{Time: after(at), Kind: kind, Peer: name, Text: "peer " + name}
}

// told returns the kind and the peer of each event after number n.
func told(l *Log, n uint64) (v []string) {
	list, _ := l.After(n)
	for _, e := range list {
		v = append(v, strings.TrimSpace(string(e.Kind)+" "+e.Peer))
	}
	return v
}

func TestRingKeepsTheNewest(t *testing.T) {
	var l Log
	const n = Kept + 250
	for i := range n {
		// Each event has its own subject, and they are slow enough for the limit of the topic.
		l.Add(Event{Time: after(float64(i) * 2), Kind: PeerMoved, Peer: fmt.Sprint(i)})
	}
	all, missed := l.After(0)
	if len(all) != Kept || missed != n-Kept || l.Last() != n {
		t.Fatalf("%d events, %d missed, last %d; want %d, %d, %d", len(all), missed, l.Last(), Kept, n-Kept, n)
	}
	for i, e := range all {
		if want := n - Kept + i; e.Number != uint64(want)+1 || e.Peer != fmt.Sprint(want) {
			t.Fatalf("event %d is number %d of peer %s, want %d of %d", i, e.Number, e.Peer, want+1, want)
		}
	}
	if v, missed := l.After(n - 3); len(v) != 3 || missed != 0 || v[0].Number != n-2 {
		t.Errorf("after %d: %v, %d missed", n-3, v, missed)
	}
	if v, missed := l.After(n + 7); v != nil || missed != 0 {
		t.Errorf("a number that is yet to come gives %v, %d missed", v, missed)
	}
}

// However many events the guests' owner causes, every other event must be reported immediately, and
// stay in its ring.
func TestGuestsHideNoEventOfRoots(t *testing.T) {
	var l Log
	want := 0
	for i := range 4 * maxSubjects {
		at := after(float64(i) / 100)
		l.Add(Event{Time: at, Kind: All[i%len(All)].Kind, Peer: fmt.Sprint("guest", i), Subject: fmt.Sprint(i), Guest: true})
		if i%100 == 0 {
			l.Advance(at)
		}
		if i%700 == 0 {
			want++
			l.Add(Event{Time: at, Kind: ConfigChanged, Subject: fmt.Sprint(want)})
		}
	}
	v, missed := l.After(0)
	n := 0
	for i, e := range v {
		if !e.Guest {
			n++
		}
		if i > 0 && e.Number <= v[i-1].Number {
			t.Fatalf("number %d follows %d", e.Number, v[i-1].Number)
		}
	}
	if n != want || missed == 0 || missed+uint64(len(v)) != l.Last() {
		t.Errorf("%d of %d changes of root's are told; %d events, %d missed, last %d", n, want, len(v), missed, l.Last())
	}
}

// A subject that changes all the time is reported a few times, and then its latest state at
// intervals.
func TestSubjectThatFlaps(t *testing.T) {
	var l Log
	for i := range 100 { // for 10 s; the last event is an answer
		l.Add(peer([]Kind{PeerSilent, PeerAnswers}[i%2], "far", float64(i)/10))
	}
	if n := len(told(&l, 0)); n != subjectBurst {
		t.Fatalf("%d events at once, want %d", n, subjectBurst)
	}
	l.Advance(after(10))
	if n := len(told(&l, subjectBurst)); n != 0 {
		t.Fatalf("%d events before their time", n)
	}
	l.Advance(after(16))
	late, _ := l.After(subjectBurst)
	if len(late) != 1 || late[0].Kind != PeerAnswers || late[0].LeftOut != 100-subjectBurst-1 {
		t.Fatalf("later: %+v, want the last answer, and %d left out", late, 100-subjectBurst-1)
	}
	if !strings.Contains(late[0].Text, fmt.Sprint(late[0].LeftOut)) {
		t.Errorf("the text does not say how many: %q", late[0].Text)
	}
	// Events of other subjects are reported at the same time, and so is another topic of the same
	// peer.
	l.Add(peer(PeerSilent, "near", 16))
	l.Add(peer(PathsDown, "far", 16))
	if n := len(told(&l, subjectBurst+1)); n != 2 {
		t.Errorf("%d of the other subjects' events, want 2", n)
	}
	// After a quiet time the limits are as at the start.
	l.Advance(after(500))
	before := l.Last()
	l.Add(peer(PeerSilent, "far", 500))
	if v := told(&l, before); len(v) != 1 {
		t.Errorf("after a quiet time: %v", v)
	}
}

// The last reported event about a subject always has the subject's last state.
func TestLastStateIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Log
		latest := map[string]Kind{}
		now := 0.0
		for range rapid.IntRange(1, 300).Draw(t, "events") {
			now += rapid.Float64Range(0, 3).Draw(t, "pause")
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "peer")
			kind := rapid.SampledFrom([]Kind{PeerSilent, PeerAnswers}).Draw(t, "kind")
			latest[name] = kind
			l.Add(peer(kind, name, now))
			l.Advance(after(now))
		}
		for range 3 {
			now += 2 * subjectEvery.Seconds()
			l.Advance(after(now))
		}
		all, _ := l.After(0)
		got := map[string]Kind{}
		var sum uint64
		for _, e := range all {
			got[e.Peer] = e.Kind
			sum += 1 + e.LeftOut
		}
		for name, kind := range latest {
			if got[name] != kind {
				t.Fatalf("last told of %s is %s, it is %s", name, got[name], kind)
			}
		}
	})
}

// If a thousand peers are lost at the same time, some must be reported and the others counted.
func TestManySubjectsAtOnce(t *testing.T) {
	var l Log
	for i := range 1000 {
		l.Add(peer(PeerSilent, fmt.Sprint(i), 0))
	}
	l.Advance(after(1))
	v, _ := l.After(0)
	if len(v) != topicBurst+1 {
		t.Fatalf("%d events, want %d and one that counts", len(v), topicBurst)
	}
	last := v[topicBurst]
	if last.LeftOut != 1000-topicBurst || last.Kind != PeerSilent || last.Peer != "" || last.Level != Warning {
		t.Errorf("the one that counts: %+v", last)
	}
	// The peers come back one by one, and each return is reported.
	before := l.Last()
	for i := range 20 {
		l.Add(peer(PeerAnswers, fmt.Sprint(i), 100+float64(i)))
	}
	if n := len(told(&l, before)); n != 20 {
		t.Errorf("%d of 20 that came back slowly are told", n)
	}
}

// Unknown hosts may cause events about any number of subjects. The table stays within its bound,
// and reported subjects are deleted.
func TestTableIsBounded(t *testing.T) {
	var l Log
	for i := range maxSubjects + 500 {
		l.Add(Event{Time: noon, Kind: StrangerRefused, Subject: fmt.Sprint(i)})
	}
	if n := len(l.limits[ofRoot].subjects); n > maxSubjects+1 {
		t.Fatalf("%d subjects, want at most %d", n, maxSubjects+1)
	}
	l.Advance(after(3600))
	l.Advance(after(7200))
	if n := len(l.limits[ofRoot].subjects); n != 0 {
		t.Errorf("%d subjects are remembered after two hours", n)
	}
}

func TestLevels(t *testing.T) {
	l := Log{Least: Info}
	l.Add(Event{Time: noon, Kind: SessionRenewed})
	l.Add(Event{Time: noon, Kind: SessionUp, Level: Error})
	v, _ := l.After(0)
	if len(v) != 1 || v[0].Level != Notice {
		t.Errorf("told: %+v, want session-up as a notice", v)
	}
	for lv := Debug; lv < numLevels; lv++ {
		text, _ := lv.MarshalText()
		var back Level
		if err := back.UnmarshalText(text); err != nil || back != lv {
			t.Errorf("%s comes back as %s, %v", lv, back, err)
		}
		if p := lv.Priority(); p < 3 || p > 7 || lv > 0 && p >= (lv-1).Priority() {
			t.Errorf("%s has priority %d", lv, p)
		}
	}
	if new(Level).UnmarshalText([]byte("loud")) == nil {
		t.Error("a level that does not exist is taken")
	}
}

// Flush reports the events that are still delayed at the end.
func TestFlush(t *testing.T) {
	var l Log
	for i := range 10 {
		l.Add(peer(PeerSilent, "far", float64(i)/100))
	}
	l.Flush(after(1))
	v, _ := l.After(subjectBurst)
	if len(v) != 1 || v[0].LeftOut != 10-subjectBurst-1 {
		t.Errorf("at the end: %+v", v)
	}
}

// The text of an event is one line of printable characters with a bounded length, whatever a name
// server or a configuration contains.
func TestTextIsOneLine(t *testing.T) {
	var l Log
	attrs := map[string]string{}
	for i := range 3 * maxAttrs {
		attrs[fmt.Sprint("key", i)] = "\x1b[2J"
	}
	l.Add(Event{Time: noon, Kind: Note, Peer: "a\nb", Text: "x\x00<3>\r\n" + strings.Repeat("\u00e9", maxText), Attributes: attrs})
	v, _ := l.After(0)
	e := v[0]
	if strings.ContainsAny(e.Text+e.Peer, "\x00\r\n") || len(e.Text) > maxText || !utf8.ValidString(e.Text) || len(e.Attributes) != maxAttrs {
		t.Errorf("kept as %d bytes, %d attributes: %q", len(e.Text), len(e.Attributes), e.Text)
	}
	for k, v := range e.Attributes {
		if strings.Contains(v, "\x1b") {
			t.Errorf("attribute %s is %q", k, v)
		}
	}
}

// The two directions of a change share a limit, so the topic of each kind must be a kind itself.
// Every kind has all fields that the manual needs.
func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, a := range All {
		if seen[a.Kind] {
			t.Errorf("%s is listed twice", a.Kind)
		}
		seen[a.Kind] = true
		if a.Meaning == "" || a.Advice == "" || a.Level >= numLevels {
			t.Errorf("%s is not described", a.Kind)
		}
		if Describe(a.Topic).Topic != a.Topic {
			t.Errorf("topic %s of %s has another topic", a.Topic, a.Kind)
		}
	}
	if d := Describe("from-the-future"); d.Level != Info || d.Topic != "from-the-future" {
		t.Errorf("an unknown kind is %+v", d)
	}
}

func TestJSON(t *testing.T) {
	var l Log
	l.Add(Event{Time: noon, Kind: PeerSilent, Peer: "far", Subject: "hidden", Text: "no answer", Attributes: map[string]string{"for": "5s"}})
	v, _ := l.After(0)
	got, err := json.Marshal(v[0])
	const want = `{"number":1,"time":"2026-03-01T12:00:00Z","kind":"peer-silent","level":"warning","peer":"far","text":"no answer","attributes":{"for":"5s"}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

// The administrator of a hub looks only at warnings. A laptop that is closed or leaves in order
// causes none. The loss of a peer with an endpoint causes a warning.
func TestPeersThatRoamAreNoWarning(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		roams bool
		want  Level
	}{
		{SessionEnded, false, Notice}, {SessionEnded, true, Notice},
		{SessionLost, false, Warning}, {SessionLost, true, Notice},
		{PeerSilent, false, Warning}, {PeerSilent, true, Notice},
		{PathsDown, false, Warning}, {PathsDown, true, Notice},
		{HandshakeMismatch, true, Warning}, {SessionExpired, true, Info},
	} {
		var l Log
		l.Add(Event{Time: noon, Kind: c.kind, Peer: "laptop", Roams: c.roams})
		if v, _ := l.After(0); len(v) != 1 || v[0].Level != c.want {
			t.Errorf("%s, roams %v: %+v", c.kind, c.roams, v)
		}
	}
}
