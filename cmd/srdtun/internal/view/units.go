package view

import (
	"fmt"
	"strings"
	"time"
)

// Duration formats d in wg's words, in whole seconds, such as "1 hour, 2 seconds". A year has 365
// days.
func Duration(d time.Duration) string {
	left := int64(d / time.Second)
	var parts []string
	for _, unit := range []struct {
		seconds int64
		noun    string
	}{{365 * 86400, "year"}, {86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}} {
		if n := left / unit.seconds; n > 0 {
			parts = append(parts, count(int(n), unit.noun))
			left %= unit.seconds
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return strings.Join(parts, ", ")
}

// Bytes formats n as wg does: "12 B", "1.50 KiB".
func Bytes(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1<<10 && unit < 3 {
		v, unit = v/(1<<10), unit+1
	}
	return fmt.Sprintf("%.2f %ciB", v, "KMGT"[unit])
}

// Rate formats a rate in bytes per second as bits per second, such as "1.25 Gbit/s".
func Rate(bytesPerS uint64) string {
	v, unit := float64(bytesPerS)*8, 0
	for v >= 1000 && unit < 3 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.3g %sbit/s", v, []string{"", "k", "M", "G"}[unit])
}

// Micros formats a time of us microseconds: "250us", "1.2ms".
func Micros(us int64) string {
	d := time.Duration(us) * time.Microsecond
	if d < time.Millisecond && d > -time.Millisecond {
		return fmt.Sprintf("%dus", us)
	}
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}

// count returns a number and its noun: "1 peer", "2 peers".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent formats the share of a part in a whole, such as "12%" or "0.3%". If the whole is 0,
// percent() returns "-".
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	// A packet that was lost in a period may have been sent before it, so `part` can exceed
	// `whole`.
	v := 100 * float64(min(part, whole)) / float64(whole)
	switch {
	case v == 0 || v >= 9.95:
		return fmt.Sprintf("%.0f%%", v)
	case v < 0.1:
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", v)
}
