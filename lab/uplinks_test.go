package lab

import (
	"testing"
	"time"
)

// An uplink must be refused if no packet could cross it, or if it reorders packets by a delay of
// zero.
func TestUplinkIsChecked(t *testing.T) {
	ms := func(n int) Duration { return Duration{Duration: time.Duration(n) * time.Millisecond} }
	for _, c := range []struct {
		uplink UplinkPlan
		ok     bool
	}{
		{UplinkPlan{Mbit: 100}, true},
		{UplinkPlan{Mbit: 100, Delay: ms(10), Jitter: ms(1), Loss: 0.1, Reorder: 0.01, Held: ms(2)}, true},
		{UplinkPlan{}, false},
		{UplinkPlan{Mbit: 100, Loss: 1}, false},
		{UplinkPlan{Mbit: 100, Delay: ms(-1)}, false},
		{UplinkPlan{Mbit: 100, Reorder: 0.01}, false},
		{UplinkPlan{Mbit: 100, Reorder: 1.5, Held: ms(2)}, false},
		{UplinkPlan{Mbit: 100, Held: ms(-2)}, false},
	} {
		if err := c.uplink.check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.uplink, err)
		}
	}
}
