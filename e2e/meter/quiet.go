package meter

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// QuietSpan is the least time that Settle watches the machine.
const QuietSpan = 500 * time.Millisecond

// The bounds of a quiet machine and of an undisturbed measurement, in processors. The least
// step of /proc/stat is a hundredth of a second.
const (
	quietMost = 0.12 // an idle tunnel and a timer here and there
	stealMost = 0.05
	niceMost  = 0.05 // nothing here is niced, unless all of it is
)

// Settle waits until the machine is idle, at most limit. It returns the reason if the machine
// stays busy, or "".
func Settle(limit time.Duration) (string, error) {
	for end := time.Now().Add(limit); ; {
		before, err := ReadCPU()
		if err != nil {
			return "", err
		}
		time.Sleep(QuietSpan)
		after, err := ReadCPU()
		if err != nil {
			return "", err
		}
		note := after.Since(before).unrest(QuietSpan)
		if note == "" || time.Now().After(end) {
			return note, nil
		}
	}
}

// unrest says how busy an otherwise idle machine was in a time d, or "".
func (c CPUTime) unrest(d time.Duration) string {
	if load := c.Busy / d.Seconds(); load >= quietMost {
		return fmt.Sprintf("%.1f processors were busy before it began", load)
	}
	return ""
}

// Disturbance names other work in a time d whose processor time is c, or "".
func (c CPUTime) Disturbance(d time.Duration, niced bool) string {
	switch {
	case c.Steal > stealMost*d.Seconds():
		return fmt.Sprintf("the hypervisor took %.2f processors", c.Steal/d.Seconds())
	case !niced && c.Nice > niceMost*d.Seconds():
		return fmt.Sprintf("niced processes of others took %.2f processors", c.Nice/d.Seconds())
	}
	return ""
}

// Niced reports whether this process runs at a lower priority than usual.
func Niced() bool {
	// The system call, unlike the C library, returns 20 less the nice value.
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return err == nil && prio < 20
}

// Watched waits at most limit for a quiet machine, and does work. It returns the machine's
// other work before or meanwhile, or "".
func Watched(limit time.Duration, work func() error) (note string, err error) {
	if note, err = Settle(limit); err != nil {
		return "", err
	}
	before, err := ReadCPU()
	if err != nil {
		return "", err
	}
	begun := time.Now()
	if err := work(); err != nil {
		return "", err
	}
	took := time.Since(begun)
	after, err := ReadCPU()
	if err == nil && note == "" {
		note = after.Since(before).Disturbance(took, Niced())
	}
	return note, err
}
