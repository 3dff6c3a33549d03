package meter

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const (
	// sinkHeader is the size in bytes of the header of a transfer: the transfer's number, from 0,
	// and its length.
	sinkHeader = 4 + 8
	// sinkChunk is the size in bytes of one write or read.
	sinkChunk = 256 << 10
)

// Sink receives numbered transfers, and records when the last byte of each arrived. A connection
// may carry several transfers one after another, over TCP or MPTCP.
type Sink struct {
	listeners []net.Listener
	came      chan struct{} // a token for each transfer

	mu     sync.Mutex
	ended  []time.Time // arrival times by the number of the transfer
	conns  map[net.Conn]bool
	closed bool
}

// NewSink starts a sink for count transfers, which listens on a port of each host.
func NewSink(port, count int, hosts ...*fabric.Host) (*Sink, error) {
	s := &Sink{came: make(chan struct{}, count), ended: make([]time.Time, count), conns: map[net.Conn]bool{}}
	for _, h := range hosts {
		err := h.Do(func() error {
			c := net.ListenConfig{}
			c.SetMultipathTCP(true)
			l, err := c.Listen(context.Background(), "tcp4", fmt.Sprintf(":%d", port))
			if err == nil {
				s.listeners = append(s.listeners, l)
			}
			return err
		})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	for _, l := range s.listeners {
		go s.accept(l)
	}
	return s, nil
}

func (s *Sink) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		closed := s.closed
		s.mu.Unlock()
		if closed {
			c.Close()
			return
		}
		go s.take(c)
	}
}

// take reads transfers from a connection until the connection ends.
func (s *Sink) take(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, sinkChunk)
	for {
		var head [sinkHeader]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint64(head[4:]))); err != nil {
			return
		}
		s.note(int(binary.BigEndian.Uint32(head[:])), time.Now())
	}
}

func (s *Sink) note(i int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && i < len(s.ended) && s.ended[i].IsZero() {
		s.ended[i] = now
		s.came <- struct{}{}
	}
}

// Wait waits, at most for d, until n more transfers have arrived, and reports whether they have.
func (s *Sink) Wait(n int, d time.Duration) bool {
	limit := time.After(d)
	for range n {
		select {
		case <-s.came:
		case <-limit:
			return false
		}
	}
	return true
}

// Ended returns when a transfer arrived. The zero time means that it has not.
func (s *Sink) Ended(number int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[number]
}

// Close ends the sink, and resets its connections.
func (s *Sink) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, l := range s.listeners {
		err = errors.Join(err, l.Close())
	}
	for c := range s.conns {
		_ = c.(*net.TCPConn).SetLinger(0) // ignores an error, because the connection may have ended
		c.Close()
	}
	return err
}

// Connect opens a connection to a sink.
func Connect(from *fabric.Host, to netip.AddrPort, mptcp bool, limit time.Duration) (c net.Conn, err error) {
	err = from.Do(func() (err error) {
		d := net.Dialer{Timeout: limit}
		d.SetMultipathTCP(mptcp)
		c, err = d.Dial("tcp4", to.String())
		return err
	})
	return c, err
}

// Send sends one transfer of size bytes to a sink. Send ignores an error, because the sink detects
// an incomplete transfer.
func Send(c net.Conn, number int, size int64) {
	b := make([]byte, sinkHeader+min(size, sinkChunk))
	binary.BigEndian.PutUint32(b, uint32(number))
	binary.BigEndian.PutUint64(b[4:], uint64(size))
	for left := size + sinkHeader; left > 0; left -= int64(len(b)) {
		b = b[:min(left, int64(len(b)))]
		if _, err := c.Write(b); err != nil {
			return
		}
		clear(b[:min(sinkHeader, len(b))])
	}
}
