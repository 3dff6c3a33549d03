package loop

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/mono"
)

// All threads get short slices, including later ones, if the scheduling policy of the process has
// slices.
func TestShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	shortSlices(slice)
	defer shortSlices(before.Runtime)
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(slice)
	if before.Runtime == 0 || !hasSlices(before.Policy) { // 0 before Linux 6.12
		want = before.Runtime
	}
	if a.Runtime != want || a.Policy != before.Policy {
		t.Fatalf("this thread has turns of %d ns and policy %d, want %d and %d", a.Runtime, a.Policy, want, before.Policy)
	}
	done := make(chan uint64)
	// A goroutine may run on a new thread or on an old one.
	for range 8 {
		go func() {
			a, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				a = &unix.SchedAttr{}
			}
			done <- a.Runtime
		}()
		if got := <-done; got != want {
			t.Errorf("a thread has turns of %d ns, want %d", got, want)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Runtime != want {
			t.Errorf("thread %d has turns of %d ns, want %d", tid, a.Runtime, want)
		}
	}
}

// TestShortSlices passes under each scheduling policy that a service may have.
func TestShortSlicesUnderEachPolicy(t *testing.T) {
	for name, policy := range map[string]unix.SchedAttr{
		"normal": {Policy: unix.SCHED_NORMAL}, "batch": {Policy: unix.SCHED_BATCH}, "idle": {Policy: unix.SCHED_IDLE},
		"fifo": {Policy: unix.SCHED_FIFO, Priority: 1}, "round robin": {Policy: unix.SCHED_RR, Priority: 1},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
			policy.Size = unix.SizeofSchedAttr
			if unix.SchedSetAttr(0, &policy, 0) != nil {
				return // no permission
			}
			c := exec.Command(os.Args[0], "-test.run=^TestShortSlices$") // inherits the thread's policy
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}()
		<-done
	}
}

// While a program may be waiting for an answer, a worker allows preemption once for each slice.
// With only a bulk transfer, it keeps the processor.
func TestSliceEndsForAWaitingProgram(t *testing.T) {
	var w worker
	now := mono.Time(time.Second)
	expect := func(want bool, what string) {
		t.Helper()
		if got := w.sliceOver(now); got != want {
			t.Errorf("%s: slice over: %v, want %v", what, got, want)
		}
	}
	expect(false, "bulk data only")
	w.urgent = now
	expect(true, "a request, after a long slice")
	expect(false, "at once")
	now += slice - 1
	expect(false, "within a slice")
	now++
	expect(true, "after a slice")
	now += mono.Time(urgentLast)
	expect(false, "long after the request")
}

// A thread that calls allowPreemption loses the processor when its slice is over, not at the next
// tick.
func TestPreemptionEndsASlice(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	shortSlices(slice)
	defer shortSlices(before.Runtime)
	if a, err := unix.SchedGetAttr(0, 0); err != nil || a.Runtime != slice {
		return // before Linux 6.12, and under some policies, threads have no slices of their own
	}
	var cpus, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	for i := range 8 * int(unsafe.Sizeof(cpus)) {
		if cpus.IsSet(i) {
			one.Set(i)
			break
		}
	}
	var over atomic.Bool
	ready, done := make(chan struct{}), make(chan struct{})
	go func() { // needs the processor all the time
		defer close(done)
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		_ = unix.SchedSetaffinity(0, &one)
		close(ready)
		for !over.Load() {
			allowPreemption()
		}
	}()
	<-ready
	const work = 40 * time.Millisecond
	lost := make(chan int)
	go func() {
		runtime.LockOSThread()
		_ = unix.SchedSetaffinity(0, &one)
		from, begun := switched(t), threadTime()
		for threadTime()-begun < work {
			allowPreemption()
		}
		lost <- switched(t) - from
	}()
	n := <-lost
	over.Store(true)
	<-done
	// With preemption only at ticks it would be 10 switches with ticks of 4 ms, or 40 with ticks of
	// 1 ms.
	if most := int(work / slice); n < most/4 {
		t.Errorf("lost the processor %d times in %v, want some %d", n, work, most)
	}
}

// switched returns how often the calling thread has lost the processor so far.
func switched(t *testing.T) (n int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "nonvoluntary_ctxt_switches:"); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return n
}

func threadTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u) // does not end a slice
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
