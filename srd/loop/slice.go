package loop

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// slice is for how long, in nanoseconds, a worker may keep a processor from others
// that were woken, and how soon its own turn comes when it is woken itself: the
// least that Linux takes. A worker under load never sleeps, and whoever it wakes by
// what it delivers would else wait for 1.4 to 3 ms; it takes no more of the processor
// for that, nor less (EEVDF: Stoica and Abdel-Wahab, 1995, "Earliest Eligible Virtual
// Deadline First"; custom slices since Linux 6.12).
const slice = 100_000

// shortSlices asks for that for all threads of the process, those to come included,
// as they inherit it: which of them a worker runs on is up to Go.
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

// shortSlice asks for it for one thread, if it is scheduled as an ordinary one. Older
// kernels take it and change nothing; who may not ask goes without.
func shortSlice(tid int, nanoseconds uint64) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || (a.Policy != unix.SCHED_NORMAL && a.Policy != unix.SCHED_BATCH) {
		return
	}
	a.Runtime = nanoseconds
	_ = unix.SchedSetAttr(tid, a, 0)
}
