package main

import (
	"fmt"
	"strings"
	"time"
)

// duration is d in wg's words: "1 hour, 2 seconds", whole seconds, a year being
// 365 days.
func duration(d time.Duration) string {
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

// byteCount is n in wg's words: "12 B", "1.50 KiB".
func byteCount(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1<<10 && unit < 3 {
		v, unit = v/(1<<10), unit+1
	}
	return fmt.Sprintf("%.2f %ciB", v, "KMGT"[unit])
}

// rate is bytes a second as network people say it: "1.25 Gbit/s".
func rate(bytesPerS uint64) string {
	v, unit := float64(bytesPerS)*8, 0
	for v >= 1000 && unit < 3 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.3g %sbit/s", v, []string{"", "k", "M", "G"}[unit])
}

// micros is a time of us microseconds: "250us", "1.2ms".
func micros(us int64) string {
	d := time.Duration(us) * time.Microsecond
	if d < time.Millisecond && d > -time.Millisecond {
		return fmt.Sprintf("%dus", us)
	}
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
