package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Switches that store and forward delay full packets longer, so each is compared with
// its like.
func TestFloorsGoBySize(t *testing.T) {
	var f floors
	now, full, small := mono.Time(1), 40*time.Microsecond, 30*time.Microsecond
	want := func(size int, d time.Duration) {
		t.Helper()
		if got := f.of(size); got != d {
			t.Errorf("least of %d bytes: %v, want %v", size, got, d)
		}
	}
	want(1200, 0)
	f.add(now, small, 1200)
	want(1200, small)
	want(8972, small) // no better is known
	f.add(now, full+5, 8972)
	f.add(now, full, 8900)
	f.add(now, small-1, 60)
	f.add(now, full+9, 8972)
	want(8972, full)
	want(8000, full)
	want(1200, small-1)
}

// What is known of a size does not get lost while acknowledgements of another come.
func TestFloorsOutliveAnotherSize(t *testing.T) {
	var f floors
	now := mono.Time(1)
	f.add(now, 40*time.Microsecond, 8972)
	for range 100 {
		now = now.Add(time.Second)
		f.add(now, 30*time.Microsecond, 60)
	}
	f.add(now, 90*time.Microsecond, 8972) // through a queue
	if got := f.of(8972); got != 40*time.Microsecond {
		t.Errorf("%v after a first packet through a queue, want what was known", got)
	}
}
