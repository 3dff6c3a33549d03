package loop

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restAfter bounds a sleep in the kernel that is hidden from Go's scheduler. If Go's monitor
// thread (sysmon) is awake, it ends such a sleep after 10 ms by a signal, to make the goroutine
// yield. A sleep in Go's poller needs another thread twice: at its start and its end. If a
// hundred senders send to one host, each gets a packet only every 25 ms. With a restAfter below
// 25 ms, each of these packets would need another thread twice.
const restAfter = 40 * time.Millisecond

// waiter is an epoll descriptor for one goroutine that sleeps and wakes often.
//
// A blocking call that Go's scheduler sees costs little by itself. But Go's monitor thread takes
// the goroutine's processor (a P of Go's scheduler) away if the goroutine sleeps, or has just
// run for 10 ms. To regain a processor, the goroutine wakes the monitor thread. The monitor then
// checks every 20 us, for at least a millisecond, whether to take the processor away again. With
// a few daemons on two processors, the monitor's checks used an eighth of all processor time in
// bursts. Each wake-up of the monitor also delayed other threads. So the waiter does not
// announce short sleeps to the scheduler. A signal ends a short sleep, so a garbage collection
// does not wait for it.
//
// A goroutine in a short sleep occupies one of Go's processors (GOMAXPROCS), and all other
// goroutines need at least one more. So if there are as many waiters as processors, or more, the
// waiters announce all sleeps to the scheduler.
//
// Long sleeps use Go's own poller. The end of a sleep in the poller does not wake the monitor,
// unlike the end of a system call. The poller watches `gate`, an epoll descriptor that contains
// the waiter's own epoll descriptor. Only during a long sleep does gate watch for input.
// Otherwise Go's poller would wake for each packet.
type waiter struct {
	epoll   int
	gate    *os.File
	gated   int  // gate's descriptor
	watched bool // gate holds epoll
	rest    syscall.RawConn
	look    func(uintptr) bool
	rested  bool // the last wait was a long one, and its end used the poller's thread

	events []unix.EpollEvent // events of a long wait
	n      int
	err    error
}

// waiters is the number of waiters in the process.
var waiters atomic.Int32

func newWaiter() (*waiter, error) {
	w := new(waiter)
	w.look = w.poll
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("loop: epoll: %w", err)
	}
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		unix.Close(w.epoll)
		return nil, fmt.Errorf("loop: epoll: %w", err)
	}
	// Go's poller accepts only non-blocking descriptors.
	err = unix.SetNonblock(gate, true)
	w.gated, w.gate = gate, os.NewFile(uintptr(gate), "epoll")
	waiters.Add(1)
	if err == nil {
		w.rest, err = w.gate.SyscallConn()
	}
	if err != nil {
		w.close()
		return nil, fmt.Errorf("loop: epoll: %w", err)
	}
	return w, nil
}

func (w *waiter) close() {
	waiters.Add(-1)
	w.gate.Close()
	unix.Close(w.epoll)
}

// add makes the waiter watch fd for unix.EPOLLIN and the events in `flags`.
func (w *waiter) add(fd int, flags uint32) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | flags, Fd: int32(fd)}
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("loop: epoll add: %w", err)
	}
	return nil
}

// wait fills events with the ready descriptors and returns their number. If `sleep` is true,
// wait() waits for the first event. If the result is zero or unix.EINTR, the caller must call
// wait() again.
func (w *waiter) wait(events []unix.EpollEvent, sleep bool) (int, error) {
	if !sleep {
		return w.raw(events, 0)
	}
	if runtime.GOMAXPROCS(0) <= int(waiters.Load()) {
		return unix.EpollWait(w.epoll, events, -1)
	}
	if w.rested {
		// The thread that waited in Go's poller now runs this goroutine. Without a yield, which wakes
		// another thread, no thread would watch the poller for other goroutines that still sleep
		// there.
		w.rested = false
		runtime.Gosched()
	}
	// The signal is probably from Go's monitor, which goes to sleep when all goroutines sleep.
	n, err := w.raw(events, int(restAfter/time.Millisecond))
	if n != 0 || err != nil && err != unix.EINTR {
		return n, err
	}
	return w.long(events)
}

// raw waits for at most ms milliseconds, hidden from Go's scheduler.
func (w *waiter) raw(events []unix.EpollEvent, ms int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// long waits without a limit, in Go's poller. If the kernel refuses the descriptor gate, for
// example because the quota of epoll watches is used up, the method long() waits in a system
// call that the scheduler sees.
func (w *waiter) long(events []unix.EpollEvent) (int, error) {
	if err := w.watch(unix.EPOLLIN); err != nil {
		return unix.EpollWait(w.epoll, events, -1)
	}
	w.events, w.rested = events, true
	err := w.rest.Read(w.look)
	w.events = nil
	if e := w.watch(0); e != nil {
		return 0, e
	}
	if err != nil {
		return unix.EpollWait(w.epoll, events, -1)
	}
	return w.n, w.err
}

// watch sets the events for which gate watches the waiter's own epoll descriptor. That
// descriptor is never removed from gate, because for adding it again the kernel would walk
// through all its members.
func (w *waiter) watch(events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(w.epoll)}
	if w.watched {
		return unix.EpollCtl(w.gated, unix.EPOLL_CTL_MOD, w.epoll, &ev)
	}
	err := unix.EpollCtl(w.gated, unix.EPOLL_CTL_ADD, w.epoll, &ev)
	w.watched = err == nil
	return err
}

// poll returns true if there are events. RawConn.Read calls poll() first, and again whenever
// gate may be ready.
func (w *waiter) poll(uintptr) (done bool) {
	w.n, w.err = w.raw(w.events, 0)
	return w.n != 0 || w.err != nil
}
