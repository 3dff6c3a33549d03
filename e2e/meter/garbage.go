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
	// garbageTick is the interval between bursts of random datagrams. A longer interval would
	// cause a significant queue at the receiver.
	garbageTick = 200 * time.Microsecond
	// garbageBatch is the maximum number of datagrams in one call of sendmmsg(2).
	garbageBatch = 64
)

// Garbage sends random datagrams at a given rate from an address that is no peer's. Each datagram
// is a separate packet, and not a segment of a super-frame.
type Garbage struct {
	From *fabric.Host
	To   netip.AddrPort
	Size int
	Rate float64               // datagrams a second
	Fill func(b []byte, n int) // writes datagram n
}

// mmsghdr is the struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// Send sends datagrams for the given time, and returns the number of sent datagrams.
func (g Garbage) Send(during time.Duration) (sent int, err error) {
	var fd int
	if err := g.From.Do(func() (err error) { fd, err = g.socket(); return err }); err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The locked thread ends with the goroutine, and so does its priority. With real-time
		// priority, the sender gets a processor immediately, as packets from another machine do.
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
				sent++ // a full queue of the sender is a loss, like a full queue in the network
			case !errors.Is(errno, unix.EINTR):
				return sent, errno
			}
		}
		pause := unix.NsecToTimespec(int64(garbageTick))
		_ = unix.Nanosleep(&pause, nil) // the next iteration compensates for a shorter sleep
	}
	return sent, nil
}
