package meter

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// QuietSpan is how long Settle looks at the machine, at least.
const QuietSpan = 500 * time.Millisecond

// When a machine is quiet, and from where on a measurement was disturbed, in
// processors. The least step of /proc/stat is a hundredth of a second.
const (
	quietMost = 0.12 // an idle tunnel and a timer here and there
	stealMost = 0.05
	niceMost  = 0.05 // nothing here is niced, unless all of it is
)

// Settle waits until the machine is idle, at most limit, and returns why it is
// not, or "".
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

// unrest says how busy a machine was that had nothing to do in a time d, or "".
func (c CPUTime) unrest(d time.Duration) string {
	if load := c.Busy / d.Seconds(); load >= quietMost {
		return fmt.Sprintf("%.1f processors were busy before it began", load)
	}
	return ""
}

// Disturbance says what else happened in a time d during which c went by, or "".
func (c CPUTime) Disturbance(d time.Duration, niced bool) string {
	switch {
	case c.Steal > stealMost*d.Seconds():
		return fmt.Sprintf("the hypervisor took %.2f processors", c.Steal/d.Seconds())
	case !niced && c.Nice > niceMost*d.Seconds():
		return fmt.Sprintf("niced processes of others took %.2f processors", c.Nice/d.Seconds())
	}
	return ""
}

// Niced is whether this process runs at a lower priority than usual.
func Niced() bool {
	// The system call, unlike the C library, returns 20 less the nice value.
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return err == nil && prio < 20
}

// Watched does work on a machine that is quiet, after waiting for that at most limit, and
// returns what else the machine did before or meanwhile, or "".
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
