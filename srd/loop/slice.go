package loop

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// slice is a worker's scheduler slice in nanoseconds, the smallest that Linux accepts. The slice
// bounds how long a worker keeps a processor from threads that it has woken. The slice also
// bounds how long a woken worker waits for a processor. A worker under load never sleeps.
// Without a short slice, threads that wait for the worker's data would wait 1.4 to 3 ms longer.
// The worker's share of the processor stays the same (Stoica and Abdel-Wahab, 1995, "Earliest
// eligible virtual deadline first"; custom slices since Linux 6.12).
const slice = 100_000

// shortSlices sets the slice of all threads of the process. Later threads inherit the slice. All
// threads need the short slice, because Go chooses the thread on which a worker runs.
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

// shortSlice sets the slice of one thread with an ordinary scheduling policy. Older kernels
// accept the call and change nothing. Without permission the slice does not change.
func shortSlice(tid int, nanoseconds uint64) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || (a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH) {
		return
	}
	a.Runtime = nanoseconds
	_ = unix.SchedSetAttr(tid, a, 0)
}
