package queue

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

func TestAim(t *testing.T) {
	for _, c := range []struct {
		rtt              time.Duration
		failing          bool
		target, interval time.Duration
	}{
		{0, false, DefaultTarget, DefaultInterval},
		{5 * time.Millisecond, false, DefaultTarget, DefaultInterval},
		{5 * time.Millisecond, true, 50 * time.Millisecond, DefaultInterval},
		{100 * time.Millisecond, false, 20 * time.Millisecond, 400 * time.Millisecond},
		{100 * time.Millisecond, true, 200 * time.Millisecond, 400 * time.Millisecond},
	} {
		if target, interval := Aim(c.rtt, c.failing); target != c.target || interval != c.interval {
			t.Errorf("%v, failing %v: target %v, interval %v", c.rtt, c.failing, target, interval)
		}
	}
}

// While a path fails, a queue with a delay below the raised target causes no signal. If the delay
// remains when the target is lowered again, it causes a signal an interval later. A delay above the
// raised target also causes a signal.
func TestSignalsWhileAPathFails(t *testing.T) {
	dropped := func(s Stats) uint64 { return s.Dropped }
	const end = 1000
	q := New(Config{Alone: -1})
	q.SetTarget(Aim(0, true))
	if at := overload(t, q, end, 1000, 0, dropped); len(at) != 0 { // a delay of about 20 ms
		t.Errorf("signals at %v", at)
	}
	q.SetTarget(Aim(0, false))
	var first mono.Time
	for now := mono.Time(end+1) * ms; first == 0 && now < (end+200)*ms; now += ms {
		q.Push(now, tcp(1, 1000, 0, 1))
		q.Pop(now)
		if q.Stats().Dropped > 0 {
			first = now
		}
	}
	if d := first - end*ms; d < mono.Time(DefaultInterval) || d > mono.Time(DefaultInterval)+5*ms {
		t.Errorf("the first signal came %v afterwards", time.Duration(d))
	}
	q = New(Config{Alone: -1})
	q.SetTarget(failingTargets*DefaultTarget/4, DefaultInterval)
	if at := overload(t, q, 200, 1000, 0, dropped); len(at) == 0 {
		t.Error("no signal for a queue above the larger target")
	}
}
