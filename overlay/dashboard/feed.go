package dashboard

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/web"
)

const (
	// every is the time between samples: a path's death is seen well within a second.
	every = 500 * time.Millisecond
	// history is how far back somebody sees who joins others, and the page keeps.
	history = 2 * time.Minute
	// maxHistoryBytes bounds what that takes: all of it for some 150 paths, and a
	// shorter time for more.
	maxHistoryBytes = 8 << 20
	// maxWatchers are pages open at once; each is sent everything. A page that is opened
	// later takes the place of another.
	maxWatchers = 8
	// maxBehind is how many samples a page may lag before it is dropped: it does not
	// read, and whoever does is not to wait for it.
	maxBehind = 16
)

// Source is where the figures come from.
type Source struct {
	Status func() control.Status
	// Events returns what happened after the event of that number, oldest first; nil:
	// nobody tells, and the page makes its own from what it sees.
	Events func(after uint64) []Event
	// Gone is told whose page was closed to make room for another one. It is nil if nobody
	// wants to know, and must not block.
	Gone func(web.Owner)
}

// Event is a line of what happened.
type Event struct {
	Number uint64 `json:"number"` // counts up from 1
	UnixMs int64  `json:"t"`
	Level  string `json:"level"` // debug, info, notice, warning, error
	Peer   string `json:"peer"`  // "" if it is about none
	Text   string `json:"text"`
}

// Feed takes samples while somebody watches, and hands them out.
type Feed struct {
	src  Source
	wake chan struct{} // the first watcher came

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	past     []piece // oldest first
	bytes    int     // of past
	event    uint64  // number of the last one handed out
}

// piece is a sample as it is sent.
type piece struct {
	at   time.Time
	text []byte
}

// watcher is an open page. Its channel is closed when it is dropped.
type watcher struct {
	samples chan []byte
	owner   web.Owner
	since   time.Time
	gaveWay bool // it was dropped for another page; set before samples is closed
}

// NewFeed returns a feed, which Run drives.
func NewFeed(src Source) *Feed {
	return &Feed{src: src, wake: make(chan struct{}, 1), watchers: map[*watcher]struct{}{}}
}

// Run takes samples until ctx ends. While nobody watches it does nothing.
func (f *Feed) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			f.runWatched(ctx)
		}
	}
}

func (f *Feed) runWatched(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for f.publish(time.Now()) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// publish takes a sample for those who watch, and reports whether anybody does.
func (f *Feed) publish(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) == 0 {
		return false
	}
	st := f.src.Status()
	s := sampleOf(&st, now)
	s.Told, s.Events = f.src.Events != nil, f.news()
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and strings always can be
	}
	f.keep(piece{now, text})
	for w := range f.watchers {
		select {
		case w.samples <- text:
		default:
			f.drop(w)
		}
	}
	return true
}

// news are the events since the last sample.
func (f *Feed) news() []Event {
	if f.src.Events == nil {
		return []Event{}
	}
	v := f.src.Events(f.event)
	if len(v) > maxEvents {
		v = v[len(v)-maxEvents:]
	}
	if len(v) == 0 {
		return []Event{}
	}
	f.event = v[len(v)-1].Number
	return v
}

// keep adds a sample to the past, and forgets what is too old or too much.
func (f *Feed) keep(p piece) {
	f.past = append(f.past, p)
	f.bytes += len(p.text)
	n := 0
	for n < len(f.past)-1 && (f.bytes > maxHistoryBytes || p.at.Sub(f.past[n].at) > history) {
		f.bytes -= len(f.past[n].text)
		n++
	}
	clear(f.past[:n])
	f.past = f.past[n:]
}

// watch adds a page of owner's, and returns what was before.
func (f *Feed) watch(now time.Time, owner web.Owner) (w *watcher, past [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) >= maxWatchers {
		f.makeRoom(owner)
	}
	w = &watcher{samples: make(chan []byte, maxBehind), owner: owner, since: now}
	f.watchers[w] = struct{}{}
	f.event = 0 // the next sample has the newest events again; a page knows their numbers
	for _, p := range f.past {
		if now.Sub(p.at) <= history {
			past = append(past, p.text)
		}
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return w, past
}

// makeRoom drops a page for another one of owner's: the oldest of the one who has most. A
// page that reads cannot be told from one that does not before the kernel's buffers are full.
func (f *Feed) makeRoom(owner web.Owner) {
	have := map[web.Owner]int{owner: 1}
	for w := range f.watchers {
		have[w.owner]++
	}
	var old *watcher
	for w := range f.watchers {
		if old == nil || web.GivesWay(have[w.owner], w.since, have[old.owner], old.since) {
			old = w
		}
	}
	old.gaveWay = true
	f.drop(old)
	if f.src.Gone != nil {
		f.src.Gone(old.owner)
	}
}

// leave ends a page.
func (f *Feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(w)
}

func (f *Feed) drop(w *watcher) {
	if _, here := f.watchers[w]; here {
		delete(f.watchers, w)
		close(w.samples)
	}
}
