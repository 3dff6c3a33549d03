package drill

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// tapeMost bounds the number of recorded frames; a minute has fewer.
const tapeMost = 500_000

// tape records the UDP packets of two hosts on a cable, and plays them back.
type tape struct {
	ends    [2]tapeEnd
	running sync.WaitGroup
	over    atomic.Bool
}

// tapeEnd is a packet socket at one end of the cable, with the recorded packets of this end.
type tapeEnd struct {
	fd     int
	frames [][]byte
}

// record starts the recording at both ends of the cable.
func record(d *fabric.Direct) (*tape, error) {
	t := &tape{}
	for i, h := range []*fabric.Host{d.A, d.B} {
		e := &t.ends[i]
		if err := h.Do(func() (err error) { e.fd, err = openPacket("eth0"); return err }); err != nil {
			return nil, errors.Join(err, t.close())
		}
		t.running.Go(func() { e.record(&t.over) })
	}
	return t, nil
}

func openPacket(name string) (int, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return -1, err
	}
	all := int(networkOrder(unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return -1, err
	}
	wait := unix.NsecToTimeval(int64(100 * time.Millisecond))
	return fd, errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: ifi.Index}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20),
	)
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

// The constants are offsets in an Ethernet frame with an IPv4 header without options.
const (
	frameType  = 12
	frameProto = 14 + 9
	frameUDP   = 14 + 20
	frameSum   = frameUDP + 6
	frameLeast = frameUDP + 8
)

// record stores the packets that this end sends, until over is set.
func (e *tapeEnd) record(over *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for !over.Load() {
		n, from, err := unix.Recvfrom(e.fd, buf, 0)
		link, _ := from.(*unix.SockaddrLinklayer)
		if err != nil || n < frameLeast || link == nil || link.Pkttype != unix.PACKET_OUTGOING || len(e.frames) == tapeMost {
			continue
		}
		b := append([]byte(nil), buf[:n]...)
		if b[frameType] != 8 || b[frameType+1] != 0 || b[frameProto] != unix.IPPROTO_UDP {
			continue
		}
		// A veth leaves the UDP checksum incomplete. A receiver also accepts packets without a
		// checksum, so record sets it to zero.
		b[frameSum], b[frameSum+1] = 0, 0
		e.frames = append(e.frames, b)
	}
}

// stop ends the recording at both ends.
func (t *tape) stop() { t.over.Store(true); t.running.Wait() }

// play sends all recorded packets, each from the end that sent it, and returns their number.
func (t *tape) play() (n int, err error) {
	var ends [2]int
	var errs [2]error
	var wg sync.WaitGroup
	for i := range t.ends {
		wg.Go(func() { ends[i], errs[i] = t.ends[i].play() })
	}
	wg.Wait()
	return ends[0] + ends[1], errors.Join(errs[:]...)
}

// play pauses for 10 ms after each hundred packets, because the session continues meanwhile.
func (e *tapeEnd) play() (n int, err error) {
	for i, b := range e.frames {
		if _, err := unix.Write(e.fd, b); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return n, err
		}
		n++
		if i%100 == 99 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return n, nil
}

func (t *tape) close() error {
	t.stop()
	var errs []error
	for i := range t.ends {
		if t.ends[i].fd > 0 {
			errs = append(errs, unix.Close(t.ends[i].fd))
		}
	}
	return errors.Join(errs...)
}
