package health

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// The result of Tell covers the last seconds, not the time since the start.
func TestRecentForgets(t *testing.T) {
	var r Recent
	var waits [srd.NumLimits]time.Duration
	if v := r.Tell(at(1), waits); v.OverUs != 0 {
		t.Errorf("before the first reading: %+v", v)
	}
	for second := 1; second < 5; second++ {
		r.Observe(at(second), waits)
		waits[srd.LimitWindow] += time.Second
	}
	v := r.Tell(at(5), waits)
	if v.OverUs != 2_000_000 || v.WaitedUs["window"] != 2_000_000 || v.WaitedUs["data"] != 0 {
		t.Errorf("%+v", v)
	}
}
