package agent

import (
	"testing"
	"time"
)

// A clock that was set back is noticed, and only that: not slewing, sleep or a step ahead.
func TestClockThatIsSetBack(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var c clock
	for i, step := range []struct {
		wall, ago time.Duration
		back      bool
	}{
		{0, time.Hour, false}, // the first
		{time.Second, time.Second, false},
		{995 * time.Millisecond, time.Second, false}, // slewing
		{365 * 24 * time.Hour, time.Second, false},   // ahead
		{time.Hour, time.Millisecond, false},         // asleep
		{-365 * 24 * time.Hour, time.Second, true},
		{0, time.Second, true},
		{time.Second, time.Second, false},
	} {
		at = at.Add(step.wall)
		if got := c.setBack(at, step.ago); got != step.back {
			t.Errorf("step %d: %v", i, got)
		}
	}
}
