package main

import (
	"math"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{duration(0), "0 seconds"},
		{duration(time.Second), "1 second"},
		{duration(2*time.Minute + time.Second/2), "2 minutes"},
		{duration(26*time.Hour + 61*time.Second), "1 day, 2 hours, 1 minute, 1 second"},
		{duration(366 * 24 * time.Hour), "1 year, 1 day"},
		{byteCount(0), "0 B"},
		{byteCount(1023), "1023 B"},
		{byteCount(1024), "1.00 KiB"},
		{byteCount(1 << 20), "1.00 MiB"},
		{byteCount(5 << 39), "2.50 TiB"},
		{byteCount(math.MaxUint64), "16777216.00 TiB"},
		{rate(0), "0 bit/s"},
		{rate(125), "1 kbit/s"},
		{rate(1234567), "9.88 Mbit/s"},
		{rate(12500000000), "100 Gbit/s"},
		{micros(0), "0us"},
		{micros(999), "999us"},
		{micros(1000), "1.0ms"},
		{micros(-20), "-20us"},
		{count(1, "peer"), "1 peer"},
		{count(0, "peer"), "0 peers"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestAgo(t *testing.T) {
	p := &text{now: time.Unix(1000, 500)}
	for at, want := range map[int64]string{
		1000: "Now", 999: "1 second ago", 390: "10 minutes, 10 seconds ago",
		1010: "(System clock wound backward; connection problems may ensue.)",
	} {
		if got := p.ago(at); got != want {
			t.Errorf("ago(%d) = %q, want %q", at, got, want)
		}
	}
}
