package meter

import (
	"errors"
	"net/netip"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const (
	// garbageTick is the time between bursts. It is as long as possible without a significant
	// queue at the receiver.
	garbageTick = 200 * time.Microsecond
	// garbageBatch is the largest number of datagrams that one sendmmsg(2) takes.
	garbageBatch = 64
)

// Garbage is a stranger who sends random datagrams at a rate. Each datagram is a packet of its
// own, and no segment of a larger packet.
type Garbage struct {
	From *fabric.Host
	To   netip.AddrPort
	Size int
	Rate float64               // datagrams a second
	Fill func(b []byte, n int) // writes datagram n
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// Send sends for the given time and returns the number of datagrams.
func (g Garbage) Send(during time.Duration) (sent int, err error) {
	var fd int
	if err := g.From.Do(func() (err error) { fd, err = g.socket(); return err }); err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread is never unlocked, so it ends with the goroutine, and its priority with
		// it. With real-time priority it gets a processor at once, as packets from another
		// machine do.
		runtime.LockOSThread()
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
		sent, err = g.send(fd, during)
	}()
	<-done
	return sent, err
}

func (g Garbage) socket() (fd int, err error) {
	family, to := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(g.To.Port()), Addr: g.To.Addr().As4()})
	if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, to); err != nil {
		unix.Close(fd)
	}
	return fd, err
}

func (g Garbage) send(fd int, during time.Duration) (sent int, err error) {
	var msgs [garbageBatch]mmsghdr
	var iovs [garbageBatch]unix.Iovec
	data := make([]byte, garbageBatch*g.Size)
	for i := range msgs {
		iovs[i].Base = &data[i*g.Size]
		iovs[i].SetLen(g.Size)
		msgs[i].hdr.Iov = &iovs[i]
		msgs[i].hdr.SetIovlen(1)
	}
	begun := time.Now()
	for now := time.Duration(0); now < during; now = time.Since(begun) {
		for due := int(g.Rate * now.Seconds()); sent < due; {
			n := min(due-sent, garbageBatch)
			for i := range n {
				g.Fill(data[i*g.Size:(i+1)*g.Size], sent+i)
			}
			k, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])), uintptr(n), 0, 0, 0)
			switch {
			case errno == 0:
				sent += int(k)
			case errors.Is(errno, unix.ENOBUFS) || errors.Is(errno, unix.ECONNREFUSED):
				sent++ // a full queue on the way is a loss, as it is further on
			case !errors.Is(errno, unix.EINTR):
				return sent, errno
			}
		}
		pause := unix.NsecToTimespec(int64(garbageTick))
		_ = unix.Nanosleep(&pause, nil) // a shorter sleep is made up for by the next turn
	}
	return sent, nil
}
