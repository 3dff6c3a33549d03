package loop

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// slice is a worker's scheduler slice in nanoseconds, the least that Linux accepts. It
// bounds how long a worker keeps a processor from woken threads. It also bounds how long
// a woken worker waits for its turn. A worker under load never sleeps. Without a short
// slice, the threads that wait for its data would wait 1.4 to 3 ms more. The worker's
// share of the processor stays the same (EEVDF: Stoica and Abdel-Wahab, 1995, "Earliest
// Eligible Virtual Deadline First"; custom slices since Linux 6.12).
const slice = 100_000

// shortSlices sets the slice of all threads of the process; later threads inherit it.
// All, because Go chooses the thread on which a worker runs.
func shortSlices(nanoseconds uint64) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			shortSlice(tid, nanoseconds)
		}
	}
}

// shortSlice sets the slice of one thread, if its scheduling policy is an ordinary one.
// Older kernels accept the call and change nothing. Without the permission the slice
// stays.
func shortSlice(tid int, nanoseconds uint64) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || (a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH) {
		return
	}
	a.Runtime = nanoseconds
	_ = unix.SchedSetAttr(tid, a, 0)
}
