package rtt

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A minimum lasts for one window at least, and for two at most.
func TestFloorForgets(t *testing.T) {
	var f Floor
	if f.Value() != 0 {
		t.Fatalf("%v of no samples", f.Value())
	}
	begin := mono.Time(1)
	f.Add(begin, 10)
	for d := time.Duration(0); d <= 3*BaseWindow; d += BaseWindow / 8 {
		f.Add(begin.Add(d), 20)
		switch v := f.Value(); {
		case d <= BaseWindow && v != 10:
			t.Errorf("%v after %v: forgotten", v, d)
		case d > 2*BaseWindow+BaseWindow/4 && v != 20:
			t.Errorf("%v after %v: not forgotten", v, d)
		}
	}
}
