package view

import (
	"math"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Duration(0), "0 seconds"},
		{Duration(time.Second), "1 second"},
		{Duration(2*time.Minute + time.Second/2), "2 minutes"},
		{Duration(26*time.Hour + 61*time.Second), "1 day, 2 hours, 1 minute, 1 second"},
		{Duration(366 * 24 * time.Hour), "1 year, 1 day"},
		{Bytes(0), "0 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(1024), "1.00 KiB"},
		{Bytes(1 << 20), "1.00 MiB"},
		{Bytes(5 << 39), "2.50 TiB"},
		{Bytes(math.MaxUint64), "16777216.00 TiB"},
		{Rate(0), "0 bit/s"},
		{Rate(125), "1 kbit/s"},
		{Rate(1234567), "9.88 Mbit/s"},
		{Rate(12500000000), "100 Gbit/s"},
		{Micros(0), "0us"},
		{Micros(999), "999us"},
		{Micros(1000), "1.0ms"},
		{Micros(-20), "-20us"},
		{count(1, "peer"), "1 peer"},
		{count(0, "peer"), "0 peers"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestAgo(t *testing.T) {
	p := &text{Options: Options{Now: time.Unix(1000, 500)}}
	for at, want := range map[int64]string{
		1000: "Now", 999: "1 second ago", 390: "10 minutes, 10 seconds ago",
		1010: "(System clock wound backward; connection problems may ensue.)",
	} {
		if got := p.ago(at); got != want {
			t.Errorf("ago(%d) = %q, want %q", at, got, want)
		}
	}
}
