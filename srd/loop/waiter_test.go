package loop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bell is a waiter with one descriptor.
type bell struct {
	testing.TB
	fd     int
	waiter *waiter
	events []unix.EpollEvent
}

func newBell(t *testing.T) *bell {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	must(t, err)
	return bellOf(t, fd)
}

// bellOf returns a bell with a waiter, and closes the descriptor at the end.
func bellOf(t *testing.T, fd int) *bell {
	w, err := newWaiter()
	must(t, err)
	t.Cleanup(func() { w.close(); unix.Close(fd) })
	must(t, w.add(fd, 0))
	return &bell{TB: t, fd: fd, waiter: w, events: make([]unix.EpollEvent, 8)}
}

func (b *bell) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(b.fd, one[:]); err != nil {
		b.Error(err)
	}
}

func (b *bell) quiet() {
	var n [8]byte
	if _, err := unix.Read(b.fd, n[:]); err != nil {
		b.Error(err)
	}
}

// wait returns the result of the waiter, and ignores signals.
func (b *bell) wait(sleep bool) int {
	for {
		n, err := b.waiter.wait(b.events, sleep)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			b.Fatal(err)
		}
		if n > 0 && b.events[0].Fd != int32(b.fd) {
			b.Fatalf("descriptor %d is ready, want %d", b.events[0].Fd, b.fd)
		}
		return n
	}
}

// watched reports whether the waiter's descriptor gate has a ready event, which would
// wake Go's poller.
func (b *bell) watched() bool {
	p := []unix.PollFd{{Fd: int32(b.waiter.gated), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	if err != nil {
		b.Fatal(err)
	}
	return n != 0
}

// A waiter returns events at once, after a short sleep, and after a long one, again and
// again. Go's poller gets events only during a long sleep.
func TestWaiter(t *testing.T) {
	b := newBell(t)
	if n := b.wait(false); n != 0 {
		t.Fatalf("%d ready before anything happened", n)
	}
	for range 3 {
		for _, after := range []time.Duration{0, restAfter / 4, 4 * restAfter} {
			go func() {
				time.Sleep(after)
				b.ring()
			}()
			for b.wait(true) == 0 {
			}
			if b.watched() {
				t.Fatalf("Go's poller watches a waiter that was woken after %v", after)
			}
			if n := b.wait(true); n != 1 {
				t.Fatalf("%d ready before the event was taken, want 1", n)
			}
			b.quiet()
			if n := b.wait(false); n != 0 {
				t.Fatalf("%d ready after the event was taken", n)
			}
		}
	}
}

// tick returns a timerfd that expires after `after`, and then at intervals of `again`. Go's
// own timers would wake Go's monitor thread, the subject of these tests.
func tick(t *testing.T, after, again time.Duration) int {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	must(t, err)
	its := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after)), Interval: unix.NsecToTimespec(int64(again))}
	must(t, unix.TimerfdSettime(fd, 0, &its, nil))
	return fd
}

// hush resets an expired timerfd by a system call hidden from Go's scheduler.
func hush(fd int) {
	var n [8]byte
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&n)), 8)
}

// busy makes one long wait of b, which has a timer, because Go's monitor sleeps after that.
// Then b makes short waits until done.
func (b *bell) busy(done *atomic.Bool) {
	for start := time.Now(); !done.Load(); {
		if time.Since(start) > patience {
			b.Fatal("the others never ran")
		}
		b.wait(true)
		hush(b.fd)
	}
}

// A goroutine that sleeps in Go's poller is woken although a waiter makes only short waits.
// This holds with one processor, with one for each waiter, and with one more.
func TestWaiterLeavesTime(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			b := bellOf(t, tick(t, 4*restAfter, restAfter/8))
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			defer w.Close()
			var served atomic.Bool
			go func() {
				var one [1]byte
				if _, err := r.Read(one[:]); err != nil {
					t.Error(err)
				}
				served.Store(true)
			}()
			for b.wait(true) == 0 {
			}
			c, err := w.SyscallConn()
			must(t, err)
			one := new(byte)
			err = c.Control(func(fd uintptr) {
				_, _, _ = unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(one)), 1)
			})
			must(t, err)
			b.busy(&served)
		})
	}
}

// A waiter in a long wait is woken although another makes only short waits. The first one
// to wake takes the thread from Go's poller.
func TestWaitersWakeBesideEachOther(t *testing.T) {
	for _, procs := range []int{2, 3, 4} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var served, ready atomic.Bool
			one := bellOf(t, tick(t, 4*restAfter, restAfter/8))
			two := bellOf(t, tick(t, 40*restAfter, 0)) // Go's monitor sleeps by then
			go func() {
				ready.Store(true)
				for two.wait(true) == 0 {
				}
				served.Store(true)
			}()
			for !ready.Load() {
				runtime.Gosched()
			}
			one.busy(&served)
		})
	}
}

// Waking a waiter allocates no memory, after a short or a long sleep.
func TestWaiterAllocatesNothing(t *testing.T) {
	b := bellOf(t, tick(t, 3*restAfter, 3*restAfter))
	rests := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			for b.wait(true) == 0 {
			}
			hush(b.fd)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	rests(1)
	// Other code may allocate now and then, but not each time.
	if n := rests(10); n >= 10 {
		t.Errorf("%d allocations in 10 rests", n)
	}
}

// switches returns how often threads of this process gave up their processors to wait.
func switches(t *testing.T) (n int) {
	files, err := filepath.Glob("/proc/self/task/*/status")
	must(t, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		_, after, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:")
		of, _, _ := strings.Cut(after, "\n")
		k, err := strconv.Atoi(strings.TrimSpace(of))
		must(t, err)
		n += k
	}
	return n
}

// A waiter that wakes every few milliseconds, and reads the clocks each time, wakes no
// other thread: neither Go's monitor, which would poll for some time, nor a thread in Go's
// poller.
func TestWakeUpsWakeNobodyElse(t *testing.T) {
	const (
		wakes = 100
		alone = "SRDTUN_TEST_ALONE"
	)
	// The counts are for the whole process, and other tests leave running timers. With
	// GOMAXPROCS 1 the scheduler learns of all sleeps, and they wake the monitor.
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1", "GOMAXPROCS=2")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return
	}
	var c clock
	c.begin(bootTime)
	b := bellOf(t, tick(t, 2*restAfter, restAfter/2))
	served := func(n int) {
		for range n {
			for b.wait(true) == 0 {
			}
			hush(b.fd)
			c.look()
		}
	}
	served(1) // a long wait, so that the monitor sleeps
	before := switches(t)
	served(wakes)
	// One switch for each wake-up, plus those of the monitor at the start of a test.
	if n := switches(t) - before; n > 4*wakes {
		t.Errorf("%d times a thread waited in %d wake-ups, want less than %d", n, wakes, 4*wakes)
	} else {
		t.Logf("%d times a thread waited in %d wake-ups", n, wakes)
	}
}
