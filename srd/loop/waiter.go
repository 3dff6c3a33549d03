package loop

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restAfter is how long a waiter sleeps in the kernel without Go's scheduler being
// told, while there was something lately. While Go's monitor is awake it ends that after
// 10 ms, to ask the goroutine to give way. To rest and to be woken takes another thread
// twice; who has a packet every 25 ms, as each of a hundred that send to one host, would
// pay that for each.
const restAfter = 40 * time.Millisecond

// waiter is an epoll for one goroutine that sleeps and wakes often.
//
// A blocking call that Go's scheduler is told of costs little by itself. But Go's
// monitor thread takes the goroutine's place from it when it has slept, or has just
// run for 10 ms; to get that back wakes the monitor, which then looks every 20 us
// whether to take it again, for a millisecond at least. With a few daemons on two
// processors that was an eighth of all processor time in bursts, and a thread that
// gets in the way whenever it wakes. So short sleeps are not told to the scheduler. A
// signal ends them, so a garbage collection does not wait.
//
// Who sleeps so keeps a place on a processor. There has to be another for everybody
// else: where there are no more of them (GOMAXPROCS) than waiters, all sleeps are told.
//
// Long sleeps go by Go's own poller, which unlike the end of a system call does not
// wake the monitor. The poller watches gate, an epoll that holds the waiter's own one
// while that rests; at other times it is there but counts for nothing: Go's poller would
// else wake for each packet.
type waiter struct {
	epoll   int
	others  int // goroutines that have a waiter too
	gate    *os.File
	gated   int  // gate's descriptor
	watched bool // gate holds epoll
	rest    syscall.RawConn
	look    func(uintptr) bool
	rested  bool // and took the poller's thread with it when it was woken

	events []unix.EpollEvent // of the wait that rests
	n      int
	err    error
}

// newWaiter returns one of so many waiters.
func newWaiter(of int) (*waiter, error) {
	w := &waiter{others: of - 1}
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
	// Only what is marked as such goes to Go's poller.
	err = unix.SetNonblock(gate, true)
	w.gated, w.gate = gate, os.NewFile(uintptr(gate), "epoll")
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
	w.gate.Close()
	unix.Close(w.epoll)
}

// add has fd waited for, with unix.EPOLLIN and the flags given.
func (w *waiter) add(fd int, flags uint32) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | flags, Fd: int32(fd)}
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("loop: epoll add: %w", err)
	}
	return nil
}

// wait fills events with what is ready, and returns how many that are. With sleep it
// waits for some; it may return none all the same, or unix.EINTR, and is then to be
// called again.
func (w *waiter) wait(events []unix.EpollEvent, sleep bool) (int, error) {
	if !sleep {
		return w.raw(events, 0)
	}
	if runtime.GOMAXPROCS(0) <= w.others+1 {
		return unix.EpollWait(w.epoll, events, -1)
	}
	if w.rested {
		// The thread that sat in Go's poller runs this goroutine now, and none is left
		// there for those who still rest. To yield wakes one.
		w.rested = false
		runtime.Gosched()
	}
	// A signal is most likely that of Go's monitor, which sleeps again when all rest.
	n, err := w.raw(events, int(restAfter/time.Millisecond))
	if n != 0 || err != nil && err != unix.EINTR {
		return n, err
	}
	return w.long(events)
}

// raw waits for so many milliseconds at most without telling Go's scheduler.
func (w *waiter) raw(events []unix.EpollEvent, ms int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// long waits for however long, in Go's poller. Where the kernel refuses that, as when a
// user has used up its share of epolls, the scheduler is told.
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

// watch has gate look for these events of the waiter's own epoll, which stays in it: the
// kernel walks through everything that an epoll holds to put it into another.
func (w *waiter) watch(events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(w.epoll)}
	if w.watched {
		return unix.EpollCtl(w.gated, unix.EPOLL_CTL_MOD, w.epoll, &ev)
	}
	err := unix.EpollCtl(w.gated, unix.EPOLL_CTL_ADD, w.epoll, &ev)
	w.watched = err == nil
	return err
}

// poll is what Go's poller calls at first and whenever gate may be ready.
func (w *waiter) poll(uintptr) (done bool) {
	w.n, w.err = w.raw(w.events, 0)
	return w.n != 0 || w.err != nil
}
