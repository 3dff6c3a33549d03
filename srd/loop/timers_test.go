package loop

import (
	"testing"

	"github.com/srdtun/srdtun/srd/mono"
	"pgregory.net/rapid"
)

// The heap against a table of deadlines with linear search. The worker's timer never
// fires later than the earliest deadline.
func TestTimersAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := mono.Never // what the worker's timer is set to
		h := timers{armed: mono.Never, arm: func(at mono.Time) { set = at }}
		peers := make([]*Peer, 8)
		want := map[*Peer]mono.Time{}
		for i := range peers {
			peers[i] = &Peer{at: mono.Never, place: -1}
		}
		now := mono.Time(1)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			p := rapid.SampledFrom(peers).Draw(t, "peer")
			switch rapid.IntRange(0, 3).Draw(t, "verb") {
			case 0, 1:
				want[p] = now + mono.Time(rapid.IntRange(-5, 50).Draw(t, "in"))
				h.set(p, want[p])
			case 2:
				delete(want, p)
				h.remove(p)
			case 3:
				now += mono.Time(rapid.IntRange(0, 20).Draw(t, "pass"))
				expire(t, &h, want, now)
				if set <= now { // it went off
					set = h.armed
				}
			}
			check(t, &h, want, set)
		}
		expire(t, &h, want, mono.Never-1)
		check(t, &h, want, set)
	})
}

// expire takes out the due peers.
func expire(t *rapid.T, h *timers, want map[*Peer]mono.Time, now mono.Time) {
	last := mono.Time(-1 << 62)
	for p := h.due(now); p != nil; p = h.due(now) {
		at, ok := want[p]
		if !ok || at > now || at < last {
			t.Fatalf("a peer is due at %v, %v; now %v, the one before %v", at, ok, now, last)
		}
		last = at
		delete(want, p)
	}
	for _, at := range want {
		if at <= now {
			t.Fatalf("a peer due at %v was not given at %v", at, now)
		}
	}
}

func check(t *rapid.T, h *timers, want map[*Peer]mono.Time, set mono.Time) {
	first := mono.Never
	for p, at := range want {
		first = min(first, at)
		if p.place < 0 || h.heap[p.place] != p || p.at != at {
			t.Fatalf("peer at %v is in place %d with %v", at, p.place, p.at)
		}
	}
	if len(h.heap) != len(want) {
		t.Fatalf("%d peers in the heap, want %d", len(h.heap), len(want))
	}
	if set > first {
		t.Fatalf("the timer goes off at %v, first deadline %v", set, first)
	}
}

// After the loop has ended, callers that still use a peer do not touch the timer.
func TestTimersStop(t *testing.T) {
	h := timers{armed: mono.Never, arm: func(mono.Time) { t.Error("the timer was set") }}
	h.stop()
	h.set(&Peer{at: mono.Never, place: -1}, 1)
	if h.due(2) == nil || h.due(2) != nil {
		t.Error("the peer is not due once")
	}
}
