package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// rounds simulates n round trips of 1 ms on path p, with 20 samples each. In each round
// trip, the first `marked` samples have a mark.
func (r *Rehash) rounds(now *mono.Time, p, n, marked int) {
	for range n {
		for i := range 20 {
			r.Sample(*now, p, Sample{CE: i < marked, RTT: time.Millisecond})
			*now += 5e4
		}
	}
	r.paths[p].finish(r.cfg.Threshold)
	r.paths[p].end = *now
}

// after returns the number of congested rounds after which a flow with pauses of the length
// `pause` leaves its path; 0: not within 20 rounds.
func after(r *Rehash, marked int, pause time.Duration) int {
	usable, now := setOf(8), mono.Time(1e6)
	home := r.Pick(now, usable, Context{Flow: 1})
	for n := 1; n <= 20; n++ {
		r.rounds(&now, home, 1, marked)
		if pause == 0 { // the flow sent a packet just before
			r.flows[1].last = now - 1000
		} else {
			now = now.Add(pause)
		}
		if r.Pick(now, usable, Context{Flow: 1}) != home {
			return n
		}
	}
	return 0
}

func TestWhenFlowsLeave(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      *Rehash
		marked int
		pause  time.Duration
		want   int
	}{
		{"plb, busy", NewPLB(1), 10, 0, 12},
		{"plb, paused", NewPLB(1), 10, 2 * time.Millisecond, 3},
		{"plb, less than half", NewPLB(1), 9, 0, 0},
		{"flowbender", NewFlowBender(1), 1, 0, 1},
		{"flowbender, paused", NewFlowBender(1), 1, time.Second, 1},
		{"flowbender, no mark", NewFlowBender(1), 0, 0, 0},
	} {
		if n := after(c.r, c.marked, c.pause); n != c.want {
			t.Errorf("%s: leaves after %d rounds, want %d", c.name, n, c.want)
		}
	}
}

// After a round without congestion the count begins at zero.
func TestGoodRoundEndsTheRun(t *testing.T) {
	r, usable, now := NewPLB(2), setOf(8), mono.Time(1e6)
	home := r.Pick(now, usable, Context{Flow: 1})
	for range 5 {
		r.rounds(&now, home, 11, 20)
		r.rounds(&now, home, 1, 0)
		r.flows[1].last = now
		if r.Pick(now, usable, Context{Flow: 1}) != home {
			t.Fatal("leaves after eleven bad rounds")
		}
	}
}

// In each congested round one flow leaves. A flow that has just moved to the path stays.
func TestFlowsLeaveOneByOne(t *testing.T) {
	r, usable, now := NewFlowBender(3), setOf(2), mono.Time(1e6)
	for flow := range uint32(5) {
		r.Pick(now, setOf(1), Context{Flow: flow})
	}
	left := func() (n int) {
		for flow := range uint32(5) {
			if r.Pick(now, usable, Context{Flow: flow}) == 1 {
				n++
			}
		}
		return n
	}
	for want := range 3 {
		if n := left(); n != want {
			t.Fatalf("%d flows have left after %d bad rounds", n, want)
		}
		r.rounds(&now, 0, 1, 20)
	}
	r.Pick(now, setOf(1), Context{Flow: 9})
	if p := r.Pick(now, usable, Context{Flow: 9}); p != 0 {
		t.Error("a flow leaves for a round that was before its time")
	}
}

// A queue above the target counts as a mark.
func TestQueueCountsAsMark(t *testing.T) {
	r, usable, now := NewFlowBender(4), setOf(4), mono.Time(1e6)
	home := r.Pick(now, usable, Context{Flow: 1, Target: target})
	for i := range 3 {
		r.Sample(now.Add(time.Duration(i)*time.Millisecond), home, Sample{Queue: target + 1, RTT: time.Millisecond})
	}
	if r.Pick(now.Add(3*time.Millisecond), usable, Context{Flow: 1, Target: target}) == home {
		t.Error("stays")
	}
}
