package loop

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/mono"
)

// bell is a descriptor that a waiter waits for.
type bell struct {
	testing.TB
	fd     int
	waiter *waiter
	events []unix.EpollEvent
}

func newBell(t *testing.T) *bell {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	return bellOf(t, fd)
}

// bellOf makes one of a descriptor, and closes that at the end.
func bellOf(t *testing.T, fd int) *bell {
	w, err := newWaiter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close(); unix.Close(fd) })
	if err := w.add(fd, 0); err != nil {
		t.Fatal(err)
	}
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

// wait returns what the waiter does; signals do not count.
func (b *bell) wait(now mono.Time, sleep bool) int {
	for {
		n, err := b.waiter.wait(now, b.events, sleep)
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

// watched reports whether gate holds anything that is ready, which would wake Go's
// poller.
func (b *bell) watched() bool {
	p := []unix.PollFd{{Fd: int32(b.waiter.gated), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	if err != nil {
		b.Fatal(err)
	}
	return n != 0
}

// A waiter tells what is ready, at once, after a moment, and when it rests; the
// latter again and again. Go's poller has nothing to look at but while it rests.
func TestWaiter(t *testing.T) {
	b := newBell(t)
	if n := b.wait(1, false); n != 0 {
		t.Fatalf("%d ready before anything happened", n)
	}
	for range 3 {
		for _, after := range []time.Duration{0, restAfter / 4, 4 * restAfter} {
			go func() {
				time.Sleep(after)
				b.ring()
			}()
			for b.wait(1, true) == 0 {
			}
			if b.watched() {
				t.Fatalf("Go's poller watches a waiter that was woken after %v", after)
			}
			if n := b.wait(1, true); n != 1 {
				t.Fatalf("%d ready before the event was taken, want 1", n)
			}
			b.quiet()
			if n := b.wait(1, false); n != 0 {
				t.Fatalf("%d ready after the event was taken", n)
			}
		}
	}
}

// A goroutine that waits for Go's poller is served on the only processor, though a
// waiter that never rests has it.
func TestWaiterLeavesTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// A timer of Go's would wake Go's monitor, which this is about.
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	b := bellOf(t, timer)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
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
	// Rest first, as after that Go's monitor sleeps.
	its := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(4 * restAfter))}
	if err := unix.TimerfdSettime(timer, 0, &its, nil); err != nil {
		t.Fatal(err)
	}
	for b.wait(1, true) == 0 {
	}
	c, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	one := new(byte)
	err = c.Control(func(fd uintptr) {
		// As above: Go's scheduler is not told.
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(one)), 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); !served.Load(); {
		if time.Since(start) > patience {
			t.Fatal("the other goroutine never ran")
		}
		b.wait(mono.Time(time.Since(start))+1, true)
	}
}

// A waiter that is woken costs no memory.
func TestWaiterAllocatesNothing(t *testing.T) {
	b := newBell(t)
	b.ring()
	if n := testing.AllocsPerRun(100, func() { b.wait(1, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
