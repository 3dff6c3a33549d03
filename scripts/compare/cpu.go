package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// userTick is the unit of /proc/stat (USER_HZ), which Linux fixes for programs.
const userTick = 10 * time.Millisecond

// processor begins to measure what share of the machine's processors is used: a
// fabric that waits for them shows how quick they are, and no policy.
func processor() func() float64 {
	began, wall := busyTime(), time.Now()
	return func() float64 {
		return (busyTime() - began).Seconds() / time.Since(wall).Seconds() / float64(runtime.NumCPU())
	}
}

// busyTime is the time that all processors were not idle, 0 if the kernel does not say.
func busyTime() (sum time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line)[1:] {
		// user nice system idle iowait irq softirq; what follows is in them, or stolen.
		n, _ := strconv.ParseInt(f, 10, 64)
		if i != 3 && i != 4 && i < 7 {
			sum += time.Duration(n) * userTick
		}
	}
	return sum
}
