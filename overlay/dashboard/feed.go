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
	// every is the interval between samples of the daemon's status. It is short enough to show the
	// failure of a path well within a second.
	every = 500 * time.Millisecond
	// history is the age up to which samples of the status are kept. A newly opened page gets all
	// kept samples.
	history = 2 * time.Minute
	// maxHistoryBytes bounds the memory of the kept samples. With about 150 paths all samples of
	// the time `history` fit; with more paths, fewer samples are kept.
	maxHistoryBytes = 8 << 20
	// maxWatchers bounds the number of open pages, because each page gets every sample. If a user
	// opens one more page, another page is closed.
	maxWatchers = 8
	// maxBehind is the number of samples that a page may lag behind. A page that lags further is
	// closed, so that other pages do not wait for it.
	maxBehind = 16
)

// Source provides the status and the events that the page shows.
type Source struct {
	Status func() control.Status
	// Events returns the events after the given number, oldest first. If Events is nil, the page
	// derives events from the samples.
	Events func(after uint64) []Event
	// Gone is called with the owner of each page that was closed to make room for another. The
	// function Gone may be nil, and must not block.
	Gone func(web.Owner)
}

// Event is a line of the page's log.
type Event struct {
	Number uint64 `json:"number"` // increases from 1
	UnixMs int64  `json:"t"`
	Level  string `json:"level"` // debug, info, notice, warning, error
	Peer   string `json:"peer"`  // "" for an event without a peer
	Text   string `json:"text"`
}

// Feed takes samples of the status while a page is open, and sends them to all pages.
type Feed struct {
	src  Source
	wake chan struct{} // signals that the first page was opened

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	past     []piece // oldest first
	bytes    int     // size of past
	event    uint64  // number of the last event handed out
}

type piece struct {
	at   time.Time
	text []byte
}

// watcher is an open page. The channel samples of a watcher is closed when the page is closed.
type watcher struct {
	samples chan []byte
	owner   web.Owner
	since   time.Time
	gaveWay bool // closed to make room for another page; set before samples is closed
}

// NewFeed returns a feed without pages. The caller must call Feed.Run.
func NewFeed(src Source) *Feed {
	return &Feed{src: src, wake: make(chan struct{}, 1), watchers: map[*watcher]struct{}{}}
}

// Run takes samples until ctx ends. While no page is open, Run is idle.
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

// publish sends a sample to all open pages, and reports whether there are any.
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
		panic(err) // cannot happen: a sample has only numbers and strings
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

// keep adds a sample to the history, and deletes samples beyond the limits of age and size.
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

// watch registers a new page for its owner, and returns the past samples.
func (f *Feed) watch(now time.Time, owner web.Owner) (w *watcher, past [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) >= maxWatchers {
		f.makeRoom(owner)
	}
	w = &watcher{samples: make(chan []byte, maxBehind), owner: owner, since: now}
	f.watchers[w] = struct{}{}
	f.event = 0 // the next sample repeats the newest events; a page skips the numbers that it has
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

// makeRoom closes the oldest page of the owner with the most pages, to make room for a new page.
// The method makeRoom cannot choose a page that does not read, because such a page cannot be
// detected until the kernel's buffers are full.
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
