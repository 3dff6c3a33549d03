package agent

import (
	"testing"
	"time"
)

// The type clock detects that the clock was set back. It does not react to slewing, to sleep of the
// machine, or to a step ahead.
func TestClockThatIsSetBack(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var c clock
	for i, step := range []struct {
		wall, ago time.Duration
		back      bool
	}{
		{0, time.Hour, false}, // the first call
		{time.Second, time.Second, false},
		{995 * time.Millisecond, time.Second, false}, // slewing
		{365 * 24 * time.Hour, time.Second, false},   // a step ahead
		{time.Hour, time.Millisecond, false},         // the machine slept
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
