package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/web"
)

var noon = time.Unix(1700000000, 0)

func status(paths int) control.Status {
	st := control.Status{Interface: "lab", PublicKey: "ownownownown", Drops: map[string]uint64{"no_route": 2, "forged": 3}}
	p := control.Peer{Name: "b", PublicKey: "abcdefghijklmnop", AllowedIPs: []string{"10.0.0.0/8"}}
	for i := range paths {
		p.Paths = append(p.Paths, control.Path{Local: fmt.Sprintf("10.0.0.1:%05d", i), Remote: "192.0.2.1:1", State: control.PathActive})
	}
	p.Paths = append(p.Paths, control.Path{Slot: 256, State: control.PathCandidate})
	st.Peers = []control.Peer{p}
	return st
}

// last returns the newest sample sent to a page.
func last(t *testing.T, w *watcher) sample {
	t.Helper()
	var s sample
	if err := json.Unmarshal(<-w.samples, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func feed(paths int) (*Feed, *int) {
	reads := new(int)
	return NewFeed(Source{Status: func() control.Status { *reads++; return status(paths) }}), reads
}

func TestNobodyWatchesNothingIsRead(t *testing.T) {
	f, reads := feed(1)
	if f.publish(noon) || *reads != 0 {
		t.Errorf("%d reads", *reads)
	}
	w, _ := f.watch(noon, web.Owner{})
	if !f.publish(noon) || *reads != 1 {
		t.Errorf("%d reads for one page", *reads)
	}
	f.leave(w)
	if f.publish(noon) || *reads != 1 {
		t.Errorf("%d reads after the page was closed", *reads)
	}
}

func TestSampleHasNoKeysAndNoCandidates(t *testing.T) {
	f, _ := feed(3)
	w, _ := f.watch(noon, web.Owner{})
	f.publish(noon)
	text := string(<-w.samples)
	for _, hidden := range []string{"abcdefghi", "ownown", "10.0.0.0/8", "candidate"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s in %s", hidden, text)
		}
	}
	var s sample
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Peers) != 1 || len(s.Peers[0].Paths) != 3 || s.Drops != 5 || s.UnixMs != noon.UnixMilli() || s.Told {
		t.Errorf("%s", text)
	}
}

func TestSampleIsBounded(t *testing.T) {
	st := status(maxPaths + 5)
	for i := range maxPeers + 6 {
		st.Peers = append(st.Peers, control.Peer{PublicKey: fmt.Sprint(i), Paths: []control.Path{{State: control.PathDown}}})
	}
	s := sampleOf(&st, noon)
	paths := 0
	for _, p := range s.Peers {
		paths += len(p.Paths)
	}
	if want := 5 + maxPeers - 1 + 7; len(s.Peers) != maxPeers || paths != maxPaths || s.LeftOut != want {
		t.Errorf("%d peers, %d paths, %d left out, want %d", len(s.Peers), paths, s.LeftOut, want)
	}
}

// If the maximum number of pages is open, one more page can be opened. The oldest page is closed
// and told the reason.
func TestLastPageOpenedIsSeen(t *testing.T) {
	f, _ := feed(1)
	var gone []web.Owner
	f.src.Gone = func(o web.Owner) { gone = append(gone, o) }
	var all []*watcher
	for i := range maxWatchers + 1 {
		w, _ := f.watch(noon.Add(time.Duration(i)), web.Owner{})
		all = append(all, w)
	}
	if len(f.watchers) != maxWatchers || len(gone) != 1 {
		t.Errorf("%d pages are open, %d were told of", len(f.watchers), len(gone))
	}
	if _, open := <-all[0].samples; open || !all[0].gaveWay {
		t.Error("the oldest one stays")
	}
	f.publish(noon)
	for _, w := range all[1:] {
		last(t, w)
	}
}

// If a user opens one page after another, only his own pages are closed.
func TestPagesOfOneOwnerLeaveOthers(t *testing.T) {
	f, _ := feed(1)
	mine, _ := f.watch(noon, web.UserOwner(1000))
	for i := range 3 * maxWatchers {
		f.watch(noon.Add(time.Duration(i+1)), web.UserOwner(4444))
	}
	f.publish(noon)
	last(t, mine)
	if len(f.watchers) != maxWatchers {
		t.Errorf("%d pages are open", len(f.watchers))
	}
}

// A page that does not read is closed, while another page gets every sample.
func TestSlowPageIsDropped(t *testing.T) {
	f, _ := feed(1)
	slow, _ := f.watch(noon, web.Owner{})
	quick, _ := f.watch(noon, web.Owner{})
	for i := range maxBehind + 1 {
		f.publish(noon.Add(time.Duration(i) * every))
		if s := last(t, quick); s.UnixMs != noon.Add(time.Duration(i)*every).UnixMilli() {
			t.Fatalf("sample %d is of %d", i, s.UnixMs)
		}
	}
	for range maxBehind {
		<-slow.samples
	}
	if _, open := <-slow.samples; open {
		t.Error("the slow page is still sent to")
	}
	f.leave(slow) // a second time, as its handler does
	if !f.publish(noon) {
		t.Error("nobody watches any more")
	}
}

func TestPastIsForgotten(t *testing.T) {
	f, _ := feed(1)
	w, past := f.watch(noon, web.Owner{})
	if len(past) != 0 {
		t.Errorf("a past of %d samples before the first", len(past))
	}
	for at := time.Duration(0); at <= 2*history; at += every {
		f.publish(noon.Add(at))
		<-w.samples
	}
	if _, past := f.watch(noon.Add(2*history), web.Owner{}); len(past) != int(history/every)+1 {
		t.Errorf("%d samples of the past", len(past))
	}
	if _, past := f.watch(noon.Add(4*history), web.Owner{}); len(past) != 0 {
		t.Errorf("%d samples from long ago", len(past))
	}
}

func TestPastIsBounded(t *testing.T) {
	f, _ := feed(maxPaths)
	w, _ := f.watch(noon, web.Owner{})
	for i := range int(history / every) {
		f.publish(noon.Add(time.Duration(i) * every))
		<-w.samples
	}
	sum := 0
	for _, p := range f.past {
		sum += len(p.text)
	}
	if sum != f.bytes || sum > maxHistoryBytes || len(f.past) < 2 {
		t.Errorf("%d samples of %d bytes, counted as %d", len(f.past), sum, f.bytes)
	}
	t.Logf("a full sample has %d bytes", len(f.past[0].text))
}

func TestEventsAreToldOnceAndToEachNewPage(t *testing.T) {
	var all []Event
	f, _ := feed(1)
	f.src.Events = func(after uint64) []Event { return all[min(after, uint64(len(all))):] }
	for i := range 2 * maxEvents {
		all = append(all, Event{Number: uint64(i + 1), Text: "x"})
	}
	numbers := func(w *watcher) (first, newest uint64, n int) {
		s := last(t, w)
		if n = len(s.Events); n > 0 {
			first, newest = s.Events[0].Number, s.Events[n-1].Number
		}
		return first, newest, n
	}
	one, _ := f.watch(noon, web.Owner{})
	f.publish(noon)
	if first, last, n := numbers(one); n != maxEvents || first != maxEvents+1 || last != 2*maxEvents {
		t.Errorf("%d events, %d to %d", n, first, last)
	}
	all = append(all, Event{Number: 2*maxEvents + 1})
	f.publish(noon.Add(every))
	if first, _, n := numbers(one); n != 1 || first != 2*maxEvents+1 {
		t.Errorf("%d events from %d on", n, first)
	}
	two, _ := f.watch(noon.Add(every), web.Owner{})
	f.publish(noon.Add(2 * every))
	if _, last, n := numbers(two); n != maxEvents || last != 2*maxEvents+1 {
		t.Errorf("a new page gets %d events up to %d", n, last)
	}
}
