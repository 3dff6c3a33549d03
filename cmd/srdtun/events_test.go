package main

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"0s":                   now,
		"90m":                  now.Add(-90 * time.Minute),
		"03:00":                time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC),
		"23:30:15":             time.Date(2026, 11, 21, 23, 30, 15, 0, time.UTC),
		"2026-11-20":           time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"2026-11-20 03:00":     time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC),
		"2026-11-20 03:00:09":  time.Date(2026, 11, 20, 3, 0, 9, 0, time.UTC),
		"2026-11-20T03:00:09Z": time.Date(2026, 11, 20, 3, 0, 9, 0, time.UTC),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-5m", "25:00", "10", "2026-13-01"} {
		if got, err := parseSince(text, now); err == nil || exitCode(err) != exitUsage {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
