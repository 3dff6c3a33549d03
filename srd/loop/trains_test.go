package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// For some time after an urgent packet, a round sends at most one train to each peer, so
// that small packets do not wait behind many trains. Without urgent packets it sends more.
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

// Each worker serves a peer once in a round, however often the peer was touched.
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
