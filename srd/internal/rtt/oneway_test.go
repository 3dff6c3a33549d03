package rtt

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The queueing delay is the one-way delay minus that of the fastest packet, whatever the
// offset of the two clocks is, and even if one of them wraps.
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

// If a route has become longer, the extra delay no longer counts as a queue after two
// windows. Older delays have no effect.
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

// If two clocks drift apart at the rate of crystals, the error of the queueing delay is at
// most their drift in two windows plus the interval of two packets.
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
