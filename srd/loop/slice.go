package loop

import (
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/mono"
)

// slice is a worker's scheduler slice in nanoseconds, the shortest that Linux accepts. It bounds
// how long threads that a worker has woken wait for its processor, and how long a woken worker
// waits for a processor. A worker under load never sleeps, so without a short slice, threads that
// wait for its data would wait 1.4 to 3 ms longer. The worker's share of the processor stays the
// same (Stoica and Abdel-Wahab, 1995, "Earliest eligible virtual deadline first"; custom slices
// since Linux 6.12).
const slice = 100_000

// urgentLast is the time for which an urgent packet has an effect. Within a data centre, a program
// that waits for each answer sends its next request within this time, even during a bulk transfer.
const urgentLast = 20 * time.Millisecond

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

// shortSlice sets the slice of one thread, if the thread's policy has slices. Older kernels accept
// the call and change nothing. Without permission the slice does not change.
func shortSlice(tid int, nanoseconds uint64) {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil || !hasSlices(a.Policy) {
		return
	}
	a.Runtime = nanoseconds
	_ = unix.SchedSetAttr(tid, a, 0)
}

// hasSlices reports whether threads of a scheduling policy may choose their slices. A service may
// run under any policy (CPUSchedulingPolicy= of systemd.exec(5)). Under SCHED_IDLE, Linux ignores
// the chosen slice. A real-time policy has no slices.
func hasSlices(policy uint32) bool {
	return policy == unix.SCHED_NORMAL || policy == unix.SCHED_BATCH
}

// awaited reports whether a program may be waiting for an answer, because an urgent packet came
// within urgentLast.
func (w *worker) awaited(now mono.Time) bool {
	return w.urgent != 0 && now.Sub(w.urgent) < urgentLast
}

// sliceOver reports, once for each slice, that the slice is over while a program may be waiting
// for the processor. Without such a program it returns false, because a bulk transfer is faster if
// the worker keeps the processor until the next tick.
func (w *worker) sliceOver(now mono.Time) bool {
	if !w.awaited(now) || now.Sub(w.began) < slice {
		return false
	}
	w.began = now
	return true
}

// allowPreemption lets the kernel preempt the thread if its slice is over and another thread
// waits. The kernel compares a running thread's time with its slice only at a tick, every 4 ms
// with HZ=250, or when a system call reads the thread's time. Without this call a worker under
// load kept the processor for up to 8 ms, although its slice was 0.1 ms. Unlike sched_yield(2),
// the call takes nothing from a thread whose slice is not over. Go's scheduler does not learn of
// the call.
func allowPreemption() {
	var t unix.Timespec
	// This fails only for a clock that does not exist, and Linux has this clock since 2.6.12.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
}
