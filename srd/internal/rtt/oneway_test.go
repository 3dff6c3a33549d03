package rtt

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The wait is what a packet takes beyond the quickest one, whatever the two clocks say, also
// when one of them wraps round.
func TestOneWay(t *testing.T) {
	const trip = 30 * time.Millisecond
	for _, apart := range []uint32{0, 1 << 20, 1<<32 - 5_000, 1 << 31} {
		var o OneWay
		now := mono.Time(time.Hour)
		if o.Known(now) {
			t.Error("known before any packet")
		}
		for i, wait := range []time.Duration{5 * time.Millisecond, 0, 40 * time.Millisecond, 3 * time.Millisecond, 0} {
			sent := now.Stamp() - apart
			got := o.Add(now.Add(trip), sent, now.Add(trip+wait).Stamp())
			if want := []time.Duration{0, 0, 40 * time.Millisecond, 3 * time.Millisecond, 0}[i]; got != want {
				t.Errorf("clocks %d us apart, packet %d: waited %v, want %v", apart, i, got, want)
			}
			now = now.Add(time.Second)
		}
		if !o.Known(now) {
			t.Error("not known after five packets")
		}
	}
}

// A route that has become longer is no queue after two windows, and what was long ago says
// nothing.
func TestOneWayForgets(t *testing.T) {
	var o OneWay
	now := mono.Time(time.Hour)
	add := func(trip time.Duration) time.Duration {
		return o.Add(now.Add(trip), now.Stamp(), now.Add(trip).Stamp())
	}
	add(10 * time.Millisecond)
	for range 2*int(OneWayWindow/time.Second) + 2 {
		now = now.Add(time.Second)
		add(25 * time.Millisecond)
	}
	if w := add(25 * time.Millisecond); w != 0 {
		t.Errorf("waited %v on a longer route after two windows", w)
	}
	now = now.Add(3 * OneWayWindow)
	if o.Known(now) {
		t.Error("known after a pause")
	}
	if w := add(90 * time.Millisecond); w != 0 {
		t.Errorf("waited %v after a pause", w)
	}
}

// If two clocks drift apart as those of crystals do, the wait that they show is at most
// their drift in two windows and the time between two packets.
func TestOneWayBearsDrift(t *testing.T) {
	for _, ppm := range []time.Duration{-50, 50} {
		var o OneWay
		most := ppm.Abs() * (2*OneWayWindow + time.Second) / 1e6
		for i := range 100 {
			now := mono.Time(time.Hour).Add(time.Duration(i) * time.Second)
			drift := ppm * time.Duration(i) * time.Microsecond
			if w := o.Add(now, now.Stamp(), now.Add(10*time.Millisecond+drift).Stamp()); w > most {
				t.Fatalf("%d ppm: waited %v after %d s", ppm, w, i)
			}
		}
	}
}
