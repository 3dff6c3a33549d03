package loop

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Who may wait for an answer has one train in front, for a while; nobody then waits
// when there was no urgent packet.
func TestTrainsPerRound(t *testing.T) {
	l := &Loop{start: time.Now()}
	w := &worker{loop: l}
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
	if len(w.touched) != 1 {
		t.Errorf("%d peers to be served, want 1", len(w.touched))
	}
}
