package loop

import (
	"testing"

	"github.com/srdtun/srdtun/srd/mono"
	"pgregory.net/rapid"
)

// The heap is compared with a table of deadlines and linear search. The worker's timer never
// expires later than the earliest deadline.
func TestTimersAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := mono.Never // time of the worker's timer
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
				h.set(now, p, want[p])
			case 2:
				delete(want, p)
				h.remove(now, p)
			case 3:
				now += mono.Time(rapid.IntRange(0, 20).Draw(t, "pass"))
				expire(t, &h, want, now)
				if set <= now { // it has expired
					set = h.armed
				}
			}
			check(t, &h, want, set)
		}
		expire(t, &h, want, mono.Never-1)
		check(t, &h, want, set)
	})
}

// expire removes the due peers.
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
	h.set(0, &Peer{at: mono.Never, place: -1}, 1)
	if h.due(2) == nil || h.due(2) != nil {
		t.Error("the peer is not due once")
	}
}

// A program that waits for each answer sends a packet every 60 us, and each packet postpones
// the deadline of a retransmission. The timer then does not wake the worker, and is moved for
// few of the packets.
func TestPuttingOffWakesNobody(t *testing.T) {
	set, moves, alarms := mono.Never, 0, 0
	h := timers{armed: mono.Never, arm: func(at mono.Time) { set, moves = at, moves+1 }}
	p := &Peer{at: mono.Never, place: -1}
	const packets = 1000
	for now := mono.Time(1); now < packets*60_000; now += 60_000 {
		if set <= now {
			alarms++
			if h.due(now) != nil {
				t.Fatal("a deadline that was put off is due")
			}
		}
		h.set(now, p, now+500_000)
	}
	if alarms > 0 || moves > packets/7 {
		t.Errorf("the timer woke the worker %d times and was moved %d times", alarms, moves)
	}
	if at := h.heap[0].at; h.due(at) != p {
		t.Error("the last deadline is not due")
	}
}
