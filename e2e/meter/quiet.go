package meter

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/others"
)

// QuietSpan is the minimum time for which Settle observes the machine.
const QuietSpan = 500 * time.Millisecond

// The constants are the bounds of a quiet machine and of an undisturbed measurement, in
// processors. The smallest step of /proc/stat is 10 ms.
const (
	quietMost = 0.12 // enough for an idle tunnel and a few timers
	stealMost = 0.05
	niceMost  = 0.05 // either all measured programs are niced, or none
)

// Settle waits until the machine is idle, at most limit. If the machine stays busy, Settle
// returns the reason, and otherwise "".
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

// unrest describes the load during d on a machine that should have been idle, or returns "".
func (c CPUTime) unrest(d time.Duration) string {
	if load := c.Busy / d.Seconds(); load >= quietMost {
		return fmt.Sprintf("%.1f processors were busy before it began", load)
	}
	return ""
}

// Disturbance describes other work on the machine during d, from the processor times c, or
// returns "".
func (c CPUTime) Disturbance(d time.Duration, niced bool) string {
	switch {
	case c.Steal > stealMost*d.Seconds():
		return fmt.Sprintf("the hypervisor took %.2f processors", c.Steal/d.Seconds())
	case !niced && c.Nice > niceMost*d.Seconds():
		return fmt.Sprintf("niced processes of others took %.2f processors", c.Nice/d.Seconds())
	}
	return ""
}

// Niced reports whether this process runs at a lower priority than normal.
func Niced() bool {
	// The system call returns 20 minus the nice value, unlike the function of the C library.
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return err == nil && prio < 20
}

// Watch is the other work on the machine before and during a measurement.
type Watch struct {
	Others float64 // processors that other processes kept busy during the measurement
	Note   string  // the other work in words, or ""
}

// Watched waits until the machine is idle, at most limit, and calls work.
func Watched(limit time.Duration, work func() error) (w Watch, err error) {
	if w.Note, err = Settle(limit); err != nil {
		return w, err
	}
	before, cpuErr := ReadCPU()
	theirs, err := others.Now()
	if err = errors.Join(cpuErr, err); err != nil {
		return w, err
	}
	begun := time.Now()
	if err := work(); err != nil {
		return w, err
	}
	took := time.Since(begun)
	after, cpuErr := ReadCPU()
	now, err := others.Now()
	w.Others = now.Since(theirs)
	switch {
	case w.Others > others.Most:
		w.Note = fmt.Sprintf("other processes took %.1f processors", w.Others)
	case w.Note == "":
		w.Note = after.Since(before).Disturbance(took, Niced())
	}
	return w, errors.Join(cpuErr, err)
}
