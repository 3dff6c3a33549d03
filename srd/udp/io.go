package udp

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
)

// Datagram is one received datagram: a packet, or a train that the kernel merged. The packets of
// a train have equal lengths, but the last packet may be shorter.
type Datagram struct {
	Data    []byte // aliases the Receiver's buffer until the next Read
	Segment int    // bytes of each packet; 0: Data is one packet
	From    netip.AddrPort
	Local   srd.Uplink // destination
	ECN     srd.ECN
	Stamp   int64 // when the kernel received the first packet, ns of CLOCK_REALTIME; 0: unknown
}

const (
	// readSize is the size of the largest merged train, in bytes.
	readSize = 65535
	// ReadMost is the largest number of datagrams that one call reads. On slow links a socket
	// usually contains one to three datagrams. If each were read by its own call, and one more call
	// found the socket empty, two of three system calls would be reads.
	ReadMost = 4
)

// RecvStats counts dropped and unusual datagrams. Other goroutines may read the counters at the
// same time.
type RecvStats struct {
	Truncated atomic.Uint64 // datagrams larger than the buffer
	NotECT    atomic.Uint64 // received without ECT, so queues cannot mark them; not dropped
}

// Receiver receives datagrams on any socket. Only one goroutine may use a Receiver.
type Receiver struct {
	headers [ReadMost]header
	calls   [ReadMost]mmsghdr
	bufs    [ReadMost][]byte
	out     [ReadMost]Datagram
	bank    *Bank
	stats   *RecvStats
}

// mmsghdr is one datagram of recvmmsg(2): its buffers and its length.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// NewReceiver returns a receiver on b that has its own buffers and counts in `stats`.
func NewReceiver(b *Bank, stats *RecvStats) *Receiver {
	r := &Receiver{bank: b, stats: stats}
	for i := range r.bufs {
		r.bufs[i] = make([]byte, readSize)
	}
	return r
}

// Read returns the next datagrams from fd, at most `limit` and at most ReadMost. The datagrams
// are valid until the next Read. The result `more` is false if the socket is empty. It is also
// false if the kernel reports an error of an earlier send, which the transport detects by
// itself.
func (r *Receiver) Read(fd, limit int) (got []Datagram, more bool) {
	limit = min(limit, ReadMost)
	for i := range r.headers[:limit] {
		h := &r.headers[i]
		h.point(r.bufs[i])
		h.hdr.Namelen = uint32(len(h.name))
		h.hdr.Control = &h.oob()[0]
		h.hdr.SetControllen(oobSize)
		r.calls[i].hdr = h.hdr
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.calls[0])), uintptr(limit), 0, 0, 0)
	if errno != 0 {
		return nil, false
	}
	got = r.out[:0]
	exits := r.bank.Exits()
	for i := range r.calls[:n] {
		h := &r.headers[i]
		if h.hdr = r.calls[i].hdr; h.hdr.Flags&unix.MSG_TRUNC != 0 {
			r.stats.Truncated.Add(1)
			continue
		}
		d := Datagram{Data: r.bufs[i][:r.calls[i].len], From: h.addr()}
		h.facts(&d)
		d.Local = uplinkOf(exits, d.Local)
		if d.ECN == srd.NotECT {
			r.stats.NotECT.Add(1)
		}
		got = append(got, d)
	}
	return got, int(n) == limit
}

// SendStats counts sent and dropped packets. Other goroutines may read the counters at the same
// time.
type SendStats struct {
	Trains      atomic.Uint64 // sendmsg calls
	Packets     atomic.Uint64
	NoBuffer    atomic.Uint64 // packets dropped because the queue of the socket or device was full
	TooBig      atomic.Uint64 // packets, except probes, dropped because they were larger than the device's MTU
	Unreachable atomic.Uint64 // packets dropped because the host lacks the source address, or a route from it
	Failed      atomic.Uint64 // packets dropped because of any other error
	NoSegments  atomic.Uint64 // trains sent packet by packet because UDP_SEGMENT failed

	// Blocked is the first path with a packet counted in Failed; nil: none, or a later packet was
	// sent on this path.
	Blocked atomic.Pointer[Blocked]
}

// Blocked describes a path on which the kernel refuses to send.
type Blocked struct {
	Tuple srd.Tuple
	Err   error
}

// Sender sends trains. Only one goroutine at a time may use a Sender.
type Sender struct {
	bank  *Bank
	stats *SendStats
	// whole is the number of trains that must still be sent packet by packet after a failure of
	// UDP_SEGMENT. After these trains, UDP_SEGMENT is tried again, because routes change.
	whole int
}

// retrySegments is the initial value of Sender.whole after a failure.
const retrySegments = 4096

// sendHeaders has the headers of all senders. A peer has a sender for each of its sockets, so the
// headers of a thousand peers would take megabytes. A header is in use during one system call.
var sendHeaders = sync.Pool{New: func() any { return new(header) }}

// NewSender returns a sender on b that counts in `stats`.
func NewSender(b *Bank, stats *SendStats) *Sender { return &Sender{bank: b, stats: stats} }

// Send sends a sealed train. It drops and counts packets that cannot be sent; the transport
// repairs them like any other loss. The result `unreachable` means that the host has lost the
// source address, or has no route from it.
func (s *Sender) Send(t *srd.Train) (unreachable bool) {
	fd, n := s.fd(t), t.Packets()
	if fd < 0 || n == 0 {
		s.stats.Failed.Add(uint64(max(1, n)))
		return false
	}
	if n == 1 {
		err := s.send(fd, t, t.Buf, 0)
		s.count(t, err, 1)
		return refused(err)
	}
	if s.whole == 0 {
		err := s.send(fd, t, t.Buf, t.Size)
		if !segmentRefused(err) {
			s.count(t, err, n)
			return refused(err)
		}
		s.whole = retrySegments
	}
	s.whole--
	s.stats.NoSegments.Add(1)
	fault, unreachable := s.each(fd, t)
	if fault {
		s.whole = 0 // the packets were the reason, not UDP_SEGMENT
	}
	return unreachable
}

// each sends a train packet by packet. The result `fault` means that the packets themselves, not
// UDP_SEGMENT, were the reason of the failure: a packet was too large, or no packet could be
// sent. If the kernel refuses the first packet, for example because its source address was
// removed, it would refuse all others, too.
func (s *Sender) each(fd int, t *srd.Train) (fault, unreachable bool) {
	var tooBig, sent bool
	for b := t.Buf; len(b) > 0; {
		k := min(t.Size, len(b))
		err := s.send(fd, t, b[:k], 0)
		if !sent && refused(err) {
			s.count(t, err, (len(b)+t.Size-1)/t.Size)
			return true, true
		}
		s.count(t, err, 1)
		tooBig = tooBig || errors.Is(err, unix.EMSGSIZE)
		sent = sent || err == nil
		b = b[k:]
	}
	return tooBig || !sent, false
}

// refused reports whether err is Linux's refusal of a single packet because of its source
// address. IPv6 refuses the address itself (EINVAL). IPv4 refuses the route from the address
// (ENETUNREACH, EINVAL before 4.19). IPv4 and IPv6 refuse an interface that does not exist any
// more (ENODEV).
func refused(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EADDRNOTAVAIL) ||
		errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH)
}

// segmentRefused reports whether err means that a route or device does not support UDP_SEGMENT.
func segmentRefused(err error) bool {
	return errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.EOPNOTSUPP)
}

func (s *Sender) fd(t *srd.Train) int {
	if int(t.Tuple.Sock) >= s.bank.Len() {
		return -1
	}
	sock := s.bank.Socket(int(t.Tuple.Sock))
	if t.Tuple.Remote.Addr().Is4() {
		return sock.fd4
	}
	return sock.six()
}

func (s *Sender) send(fd int, t *srd.Train, b []byte, segment int) error {
	h := sendHeaders.Get().(*header)
	defer sendHeaders.Put(h)
	h.point(b)
	h.setAddr(t.Tuple.Remote)
	h.control(t.Tuple.Local, t.Tuple.Local.Addr().Is6() && s.bank.Alone(t.Tuple.Local), segment)
	_, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&h.hdr)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (s *Sender) count(t *srd.Train, err error, packets int) {
	n := uint64(packets)
	switch {
	case err == nil:
		s.stats.Trains.Add(1)
		s.stats.Packets.Add(n)
		if b := s.stats.Blocked.Load(); b != nil && b.Tuple == t.Tuple {
			s.stats.Blocked.CompareAndSwap(b, nil)
		}
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS):
		s.stats.NoBuffer.Add(n)
	case errors.Is(err, unix.EMSGSIZE):
		if !t.Probe {
			s.stats.TooBig.Add(n)
		}
	case refused(err):
		s.stats.Unreachable.Add(n)
	default:
		s.stats.Failed.Add(n)
		if s.stats.Blocked.Load() == nil {
			s.stats.Blocked.CompareAndSwap(nil, &Blocked{t.Tuple, err})
		}
	}
}
