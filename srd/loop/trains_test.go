package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A packet that may wait for an answer has at most one train in front, for a while.
// Without urgent packets none waits.
func TestTrainsPerRound(t *testing.T) {
	l := &Loop{clock: clock{start: time.Now()}}
	w := &worker{loop: l, bit: 1, sockets: 32}
	p := &Peer{}
	if got := w.trains(l.Now()); got != bulkTrains {
		t.Errorf("%d trains, want %d: nothing urgent yet", got, bulkTrains)
	}
	w.given(p, false)
	if got := w.trains(l.Now()); got != bulkTrains {
		t.Errorf("%d trains after bulk data, want %d", got, bulkTrains)
	}
	w.given(p, true)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, urgentTrains}, {urgentLast - 1, urgentTrains}, {urgentLast, bulkTrains}} {
		if got := w.trains(w.urgent + mono.Time(c.after)); got != c.want {
			t.Errorf("%d trains %v after an urgent packet, want %d", got, c.after, c.want)
		}
	}
	w.sockets = 1
	if got := w.trains(w.urgent + mono.Time(urgentLast)); got != 1 {
		t.Errorf("%d trains on one socket, want 1", got)
	}
	if len(w.touched) != 1 {
		t.Errorf("%d peers to be served, want 1", len(w.touched))
	}
}

// A peer is served once in a round, however often it was touched, and by each worker.
func TestTouchedOnce(t *testing.T) {
	one, two := &worker{bit: 1}, &worker{bit: 2}
	p, q := &Peer{}, &Peer{}
	for range 3 {
		one.touch(p)
		one.touch(q)
		two.touch(q)
	}
	if !slices.Equal(one.touched, []*Peer{p, q}) || !slices.Equal(two.touched, []*Peer{q}) {
		t.Errorf("%d and %d peers to be served, want 2 and 1", len(one.touched), len(two.touched))
	}
}
