package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The estimated wait follows a queue that lasts for some round trips, and falls again when
// the queue has been empty for as many.
func TestFrontIsWhatStands(t *testing.T) {
	const rtt, rate = 10 * time.Millisecond, 1e6
	var f front
	now := mono.Time(1)
	stand := func(rounds, bytes int) time.Duration {
		for range 10 * rounds {
			now = now.Add(rtt / 10)
			f.note(now, bytes, rate, rtt)
		}
		return f.wait
	}
	if w := stand(1, 100_000); w > 15*time.Millisecond {
		t.Errorf("100 ms that waited for one round trip count as %v", w)
	}
	if w := stand(8*frontRounds, 100_000); w < 95*time.Millisecond || w > 100*time.Millisecond {
		t.Errorf("100 ms that waited for long count as %v", w)
	}
	if w := stand(8*frontRounds, 0); w > 5*time.Millisecond {
		t.Errorf("an empty queue counts as %v", w)
	}
}

// After a pause the estimated wait is zero, however long it was before. It is also zero if
// the rate is unknown. With a rate near zero it is finite.
func TestFrontOfAPause(t *testing.T) {
	var f front
	f.note(1, 1<<20, 1e6, time.Millisecond)
	f.note(mono.Time(time.Second), 0, 1e6, time.Millisecond)
	f.note(mono.Time(time.Second+time.Millisecond), 1<<20, 0, time.Millisecond)
	if f.wait != 0 || f.last != 0 {
		t.Errorf("%v waits, %v now", f.wait, f.last)
	}
	f.note(mono.Time(2*time.Minute), 1<<20, 1e-300, time.Millisecond)
	f.note(mono.Time(2*time.Minute+time.Millisecond), 0, 1, time.Millisecond)
	if f.wait <= 0 || f.wait > sampleMost {
		t.Errorf("%v waits", f.wait)
	}
}
