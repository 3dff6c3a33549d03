package hostdelay

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// meanPause is the mean time between two packets. Timers fire twice as often as packets arrive.
	// With a mean pause of 2 ms, the process is asleep at most events, and on a quiet machine the
	// processor is too.
	meanPause = 2 * time.Millisecond
	// trainPackets and packetBytes describe a long train over links with an MTU of 1,500 bytes.
	trainPackets = 44
	packetBytes  = 1440
	// rounds is the number of measurements of each cost. The median of all rounds is recorded.
	rounds = 400
	// waitMost is the time without an event after which a recording fails.
	waitMost = time.Second
)

// measure fills the record r with all measurements.
func (s *site) measure(samples int, r *record) error {
	if err := s.delays(samples, r); err != nil {
		return err
	}
	return s.costs(r)
}

// now reads the given kernel clock.
func now(clock int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(clock, &t) // fails only for invalid clocks
	return time.Duration(t.Nano())
}

// pause draws the random time until the next event.
func pause(mean time.Duration) time.Duration {
	return time.Duration(rand.ExpFloat64()*float64(mean)) + 50*time.Microsecond
}

// delays records timers and packets until both have enough samples.
func (s *site) delays(samples int, r *record) error {
	w, err := newSleeper(s.recv)
	if err != nil {
		return err
	}
	defer w.close()
	quit, ended := make(chan struct{}), make(chan struct{})
	s.sender <- func() {
		defer close(ended)
		for b := make([]byte, packetBytes); ; {
			select {
			case <-quit:
				return
			default:
			}
			t := unix.NsecToTimespec(int64(pause(meanPause)))
			_ = unix.Nanosleep(&t, nil)
			_ = unix.Sendto(s.send, b, 0, &unix.SockaddrInet4{Addr: near, Port: port})
		}
	}
	defer func() { close(quit); <-ended }()
	for len(r.timer) < samples || len(r.arrival) < samples {
		if err := w.turn(r); err != nil {
			return err
		}
	}
	return nil
}

// sleeper sleeps as a worker of srd/loop does.
type sleeper struct {
	epoll, timer, socket int
	due                  time.Duration
	buf                  [65535]byte
	oob                  [128]byte
}

func newSleeper(socket int) (*sleeper, error) {
	w := &sleeper{socket: socket}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, err
	}
	for _, fd := range []int{w.timer, socket} {
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
		if fd == w.timer {
			ev.Events |= unix.EPOLLET
		}
		if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
			return nil, err
		}
	}
	w.arm()
	return w, nil
}

func (w *sleeper) close() {
	unix.Close(w.timer)
	unix.Close(w.epoll)
}

func (w *sleeper) arm() {
	d := pause(meanPause / 2)
	w.due = now(unix.CLOCK_BOOTTIME) + d
	its := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = unix.TimerfdSettime(w.timer, 0, &its, nil) // fails only for invalid arguments
}

// turn sleeps until the next event, and records the delay with which the kernel woke the process.
func (w *sleeper) turn(r *record) error {
	var events [2]unix.EpollEvent
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.epoll), uintptr(unsafe.Pointer(&events[0])), 2, uintptr(waitMost.Milliseconds()), 0, 0)
	if errno == unix.EINTR {
		return nil
	}
	if errno != 0 || n == 0 {
		return fmt.Errorf("nothing happened within %v (%v)", waitMost, errno)
	}
	for _, e := range events[:n] {
		if int(e.Fd) == w.timer {
			r.timer = append(r.timer, now(unix.CLOCK_BOOTTIME)-w.due)
			w.arm()
		} else {
			w.receive(r)
		}
	}
	return nil
}

// receive reads one datagram and records the delay since its arrival.
func (w *sleeper) receive(r *record) {
	_, oobn, _, _, err := unix.Recvmsg(w.socket, w.buf[:], w.oob[:], 0)
	if err != nil {
		return
	}
	handled := now(unix.CLOCK_REALTIME)
	messages, err := unix.ParseSocketControlMessage(w.oob[:oobn])
	if err != nil {
		return
	}
	for _, m := range messages {
		if m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			stamp := time.Duration(binary.NativeEndian.Uint64(m.Data))*time.Second + time.Duration(binary.NativeEndian.Uint64(m.Data[8:]))
			r.arrival = append(r.arrival, max(0, handled-stamp))
		}
	}
}

// costs measures the processor time that a train costs, and that each packet of a train adds.
func (s *site) costs(r *record) error {
	one, err := s.sending(1)
	if err != nil {
		return err
	}
	long, err := s.sending(trainPackets)
	if err != nil {
		return err
	}
	single, err := s.receiving(1)
	if err != nil {
		return err
	}
	merged, err := s.receiving(trainPackets)
	if err != nil {
		return err
	}
	crypto := sealing()
	slope := func(one, long time.Duration) time.Duration { return max(0, long-one) / (trainPackets - 1) }
	r.costs = []cost{
		{"send-train", one - slope(one, long)}, {"send-packet", slope(one, long) + crypto},
		{"receive-train", single - slope(single, merged)}, {"receive-packet", slope(single, merged) + crypto},
	}
	return nil
}

// sending returns the time that it takes to send a train to a device whose other end drops the
// packets.
func (s *site) sending(packets int) (time.Duration, error) {
	b, control := make([]byte, packets*packetBytes), segments(packets)
	return median(func() (time.Duration, error) {
		begin := now(unix.CLOCK_THREAD_CPUTIME_ID)
		_, err := unix.SendmsgN(s.recv, b, control, &unix.SockaddrInet4{Addr: nobody, Port: port}, 0)
		return now(unix.CLOCK_THREAD_CPUTIME_ID) - begin, err
	})
}

// receiving returns the time to receive a train from a socket.
func (s *site) receiving(packets int) (time.Duration, error) {
	b, control := make([]byte, packets*packetBytes), segments(packets)
	var buf [65535]byte
	var oob [128]byte
	return median(func() (time.Duration, error) {
		if err := s.remote(func() error {
			_, err := unix.SendmsgN(s.send, b, control, &unix.SockaddrInet4{Addr: near, Port: port}, 0)
			return err
		}); err != nil {
			return 0, err
		}
		begin, n := now(unix.CLOCK_THREAD_CPUTIME_ID), 0
		for n < len(b) {
			k, _, _, _, err := unix.Recvmsg(s.recv, buf[:], oob[:], 0)
			if err != nil {
				break // the remaining packets were lost
			}
			n += k
		}
		return now(unix.CLOCK_THREAD_CPUTIME_ID) - begin, nil
	})
}

// segments returns the control message (UDP_SEGMENT) that makes the kernel send a buffer as a train
// of packets.
func segments(packets int) []byte {
	if packets == 1 {
		return nil
	}
	b := make([]byte, unix.CmsgSpace(2))
	c := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	c.Level, c.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(b[unix.CmsgLen(0):], packetBytes)
	return b
}

// sealing returns the time to encrypt one packet with AES-256-GCM.
func sealing() time.Duration {
	block, _ := aes.NewCipher(make([]byte, 32))
	g, _ := cipher.NewGCM(block)
	b, nonce := make([]byte, packetBytes, packetBytes+g.Overhead()), make([]byte, g.NonceSize())
	took, _ := median(func() (time.Duration, error) {
		begin := now(unix.CLOCK_THREAD_CPUTIME_ID)
		g.Seal(b[:0], nonce, b, nil)
		return now(unix.CLOCK_THREAD_CPUTIME_ID) - begin, nil
	})
	return took
}

// median runs f repeatedly and returns the median of its times.
func median(f func() (time.Duration, error)) (time.Duration, error) {
	var v []time.Duration
	for range rounds {
		d, err := f()
		if err != nil {
			return 0, err
		}
		v = append(v, d)
	}
	return middle(v), nil
}
