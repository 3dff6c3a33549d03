package mono

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The measured lateness is above nearly all samples, and follows the host when it becomes
// faster or slower.
func TestLatenessCoversTheHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l Lateness
	if l.Value() != Granularity {
		t.Fatalf("before any sample it is %v", l.Value())
	}
	for _, most := range []time.Duration{20 * time.Microsecond, 200 * time.Microsecond, 20 * time.Microsecond} {
		late := 0
		for i := range 2000 {
			d := time.Duration(rng.Int64N(int64(most)))
			l.Add(d)
			if i > 500 && d > l.Value() {
				late++
			}
		}
		if late > 15 || l.Value() > 2*most {
			t.Errorf("up to %v late: %v covers all but %d of 1500", most, l.Value(), late)
		}
	}
}

// For any samples, the value is between zero and Granularity.
func TestLatenessIsBounded(t *testing.T) {
	var l Lateness
	for range 100 {
		l.Add(time.Hour)
	}
	if l.Value() != Granularity {
		t.Errorf("%v", l.Value())
	}
	for range 10_000 {
		l.Add(-time.Hour)
	}
	if v := l.Value(); v < 0 || v > time.Microsecond {
		t.Errorf("%v after none was late", v)
	}
}
