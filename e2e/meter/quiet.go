package main

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
	"golang.org/x/sys/unix"
)

// When a machine is quiet, and from where on a measurement was disturbed, in
// processors. The least step of /proc/stat is a hundredth of a second.
const (
	quietSpan = 500 * time.Millisecond
	quietMost = 0.12 // an idle tunnel and a timer here and there
	stealMost = 0.05
	niceMost  = 0.05 // nothing here is niced, unless all of it is
)

// settle waits until the machine is idle, at most limit, and returns why it is
// not, or "".
func settle(limit time.Duration) (string, error) {
	for end := time.Now().Add(limit); ; {
		before, err := meter.ReadCPU()
		if err != nil {
			return "", err
		}
		time.Sleep(quietSpan)
		after, err := meter.ReadCPU()
		if err != nil {
			return "", err
		}
		load := after.Since(before).Busy / quietSpan.Seconds()
		if load < quietMost {
			return "", nil
		}
		if time.Now().After(end) {
			return fmt.Sprintf("%.1f processors were busy before it began", load), nil
		}
	}
}

// disturbance says what else happened in a time d during which c went by, or "".
func disturbance(c meter.CPUTime, d time.Duration, niced bool) string {
	switch {
	case c.Steal > stealMost*d.Seconds():
		return fmt.Sprintf("the hypervisor took %.2f processors", c.Steal/d.Seconds())
	case !niced && c.Nice > niceMost*d.Seconds():
		return fmt.Sprintf("niced processes of others took %.2f processors", c.Nice/d.Seconds())
	}
	return ""
}

// niced is whether this process runs at a lower priority than usual.
func niced() bool {
	// The system call, unlike the C library, returns 20 less the nice value.
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return err == nil && prio < 20
}
