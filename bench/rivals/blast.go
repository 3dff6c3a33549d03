package rivals

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A blast consists of single datagrams, without segmentation offload. The sender sends the
// datagrams of each tick in one burst, with one call of sendmmsg(2). So most of the machine's
// processor time is left for the tunnel.
const (
	blastBytes = 64
	blastPort  = 7001
	blastTick  = 200 * time.Microsecond
	// blastCatchUp bounds the burst of a sender that has waited for a processor, as a time at the
	// intended rate. The datagrams beyond it are not sent, so the reached rate is lower.
	blastCatchUp = time.Millisecond
	// blastBuffer is the size in bytes of the receiver's socket buffer. The buffer is large, so
	// that no datagram is lost while another process runs.
	blastBuffer = 32 << 20
	// A drain waits for datagrams in flight. It ends when none has arrived for drainQuiet, or after
	// drainMost.
	drainQuiet = 250 * time.Millisecond
	drainMost  = 2 * time.Second
	// receiveWake is the timeout of one receive call.
	receiveWake = 50 * time.Millisecond
)

// blast sends numbered datagrams of 64 bytes from A to B for the given time. The argument `rate`
// is in packets per second.
func blast(s *site, l *link, rate float64, during time.Duration) (trial, error) {
	var in, out int
	if err := errors.Join(
		s.b.Do(func() (err error) { in, err = blastReceiver(l.to); return err }),
		s.a.Do(func() (err error) { out, err = blastSender(l.to); return err }),
	); err != nil {
		return trial{}, err
	}
	defer unix.Close(out)
	c := &counter{fd: in, id: rand.Uint64(), seen: make([]uint64, int(rate*during.Seconds())/64+1), done: make(chan struct{})}
	go c.receive()
	var sent uint64
	var took time.Duration
	var err error
	promptly(func() { sent, took, err = send(out, c.id, rate, during) })
	c.drain()
	unix.Close(in)
	if err == nil {
		err = c.err
	}
	if err != nil || sent == 0 {
		return trial{}, fmt.Errorf("%d datagrams of 64 bytes: %w", sent, err)
	}
	got := 0
	for _, word := range c.seen {
		got += bits.OnesCount64(word)
	}
	return trial{float64(sent) / took.Seconds(), 1 - float64(got)/float64(sent)}, nil
}

func blastReceiver(at netip.Addr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	wake := unix.NsecToTimeval(int64(receiveWake))
	if err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, blastBuffer),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wake),
		unix.Bind(fd, &unix.SockaddrInet4{Port: blastPort, Addr: at.As4()}),
	); err != nil {
		unix.Close(fd)
	}
	return fd, err
}

func blastSender(to netip.Addr) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, &unix.SockaddrInet4{Port: blastPort, Addr: to.As4()}); err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// promptly runs fn on a thread with real-time priority. With it the datagrams arrive as if another
// machine had sent them. A sender of normal priority would compete with the tunnel's processes, and
// so would itself limit the rate.
func promptly(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread is never unlocked, so that the thread and its priority end with the goroutine.
		runtime.LockOSThread()
		// Without permission for real-time priority, the sender reaches a lower rate, and reports
		// that rate.
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
		fn()
	}()
	<-done
}

// send sends the datagrams, and returns their number and the time taken. The first eight bytes of a
// datagram identify the run, and the next eight are its sequence number.
func send(fd int, id uint64, rate float64, during time.Duration) (sent uint64, took time.Duration, err error) {
	b := newBatch(fd, blastBytes)
	most := uint64(rate * during.Seconds())
	begun := time.Now()
	owed, last := 0.0, time.Duration(0)
	for sent < most {
		now := time.Since(begun)
		if now >= during {
			break
		}
		owed = min(owed+rate*(now-last).Seconds(), max(1, rate*blastCatchUp.Seconds()))
		last = now
		for owed >= 1 && sent < most {
			n := int(min(owed, batchMost, float64(most-sent)))
			for i := range n {
				b.number(i, id, sent+uint64(i))
			}
			k, err := b.send(n)
			switch {
			case errors.Is(err, unix.ENOBUFS):
				k = 1 // a full queue in this host counts as a loss, like one on the way
			case err != nil && !errors.Is(err, unix.EINTR):
				return sent, time.Since(begun), err
			}
			sent, owed = sent+uint64(k), owed-float64(k)
		}
		pause := unix.NsecToTimespec(int64(blastTick))
		// If a sleep was too short, the next iteration sleeps again.
		_ = unix.Nanosleep(&pause, nil)
	}
	return sent, time.Since(begun), nil
}

// counter is the receiver of a blast.
type counter struct {
	fd      int
	id      uint64
	seen    []uint64 // a bit for each sequence number
	arrived atomic.Uint64
	ending  atomic.Bool
	done    chan struct{}
	err     error
}

// receive reads datagrams until the blast ends. Duplicates and datagrams of an earlier blast do not
// count.
func (c *counter) receive() {
	defer close(c.done)
	b := newBatch(c.fd, blastBytes+1)
	for !c.ending.Load() {
		n, err := b.receive()
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			c.err = err
			return
		}
		for i := range n {
			if k, ours := b.read(i, c.id); ours && k/64 < uint64(len(c.seen)) {
				c.seen[k/64] |= 1 << (k % 64)
			}
		}
		c.arrived.Add(uint64(n))
	}
}

// drain waits for datagrams in flight, and then ends the receiver.
func (c *counter) drain() {
	for end, last := time.Now().Add(drainMost), uint64(0); time.Now().Before(end); {
		time.Sleep(drainQuiet)
		now := c.arrived.Load()
		if now == last {
			break
		}
		last = now
	}
	c.ending.Store(true)
	<-c.done
}

// udpRate searches for the highest rate at which 64-byte datagrams arrive, in packets per second.
func udpRate(s *site, l *link, during time.Duration) (float64, error) {
	return lossless(func(offer float64) (trial, error) { return blast(s, l, offer, during) })
}
