package rivals

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
	"github.com/srdtun/srdtun/lab/workload"
)

const (
	strainPort = 5201
	// flowWait bounds the time until the last flows end. Plain TCP on a slow path takes tens
	// of seconds.
	flowWait = 90 * time.Second
	// flowHeader is the size in bytes of the header of a transfer: the transfer's number, from 0,
	// and its length.
	flowHeader = 4 + 8
	// flowChunk is the size in bytes of one write.
	flowChunk = 256 << 10
	// burstPause lets queues drain between two bursts.
	burstPause = 500 * time.Millisecond
)

// receiver accepts transfers, and records when the last byte of each arrived.
type receiver struct {
	l  net.Listener
	mu sync.Mutex
	// The slices ended and left are indexed by the transfer's number.
	ended []time.Time
	left  sync.WaitGroup
}

func newReceiver(h *fabric.Host, transfers int) (*receiver, error) {
	r := &receiver{ended: make([]time.Time, transfers)}
	err := h.Do(func() (err error) {
		c := net.ListenConfig{}
		c.SetMultipathTCP(true)
		r.l, err = c.Listen(context.Background(), "tcp4", fmt.Sprintf(":%d", strainPort))
		return err
	})
	if err != nil {
		return nil, err
	}
	go r.accept()
	return r, nil
}

func (r *receiver) accept() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		go r.take(c)
	}
}

// take reads transfers from a connection until the connection ends.
func (r *receiver) take(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, flowChunk)
	for {
		var head [flowHeader]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint64(head[4:]))); err != nil {
			return
		}
		r.note(int(binary.BigEndian.Uint32(head[:])), time.Now())
	}
}

func (r *receiver) note(i int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < len(r.ended) && r.ended[i].IsZero() {
		r.ended[i] = now
		r.left.Done()
	}
}

// wait waits until all announced transfers have arrived.
func (r *receiver) wait() error {
	done := make(chan struct{})
	go func() { r.left.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(flowWait):
		return errors.New("flows do not end")
	}
}

// connect opens a connection over the link, with TCP or MPTCP as the link requires.
func connect(h *fabric.Host, l *link) (c net.Conn, err error) {
	err = h.Do(func() (err error) {
		d := net.Dialer{Timeout: flowWait}
		d.SetMultipathTCP(l.wrap != nil)
		c, err = d.Dial("tcp4", netip.AddrPortFrom(l.to, strainPort).String())
		return err
	})
	return c, err
}

// transfer sends one transfer of size bytes. The sender ignores an error, because the receiver
// detects an incomplete transfer.
func transfer(c net.Conn, number int, size int64) {
	head := binary.BigEndian.AppendUint32(nil, uint32(number))
	head = binary.BigEndian.AppendUint64(head, uint64(size))
	if _, err := c.Write(head); err != nil {
		return
	}
	b := make([]byte, min(size, flowChunk))
	for size > 0 {
		n, err := c.Write(b[:min(size, int64(len(b)))])
		if err != nil {
			return
		}
		size -= int64(n)
	}
}

// playBursts sends bursts over existing connections, and returns the time of each transfer.
func playBursts(s *site, l *link, x burst) (took []time.Duration, err error) {
	each := len(s.senders()) * x.flows
	r, err := newReceiver(s.b, each*x.rounds)
	if err != nil {
		return nil, err
	}
	defer r.l.Close()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range x.flows {
		for _, h := range s.senders() {
			c, err := connect(h, l)
			if err != nil {
				return nil, err
			}
			conns = append(conns, c)
		}
	}
	for round := range x.rounds {
		time.Sleep(burstPause)
		r.left.Add(each)
		began := time.Now()
		for i, c := range conns {
			go transfer(c, round*each+i, x.size)
		}
		if err := r.wait(); err != nil {
			return nil, err
		}
		for _, t := range r.ended[round*each:][:each] {
			took = append(took, t.Sub(began))
		}
	}
	return took, nil
}

// playFlows sends each flow over its own connection, and returns the duration of each flow.
func playFlows(s *site, l *link, flows []workload.Flow) (took []time.Duration, err error) {
	r, err := newReceiver(s.b, len(flows))
	if err != nil {
		return nil, err
	}
	defer r.l.Close()
	r.left.Add(len(flows))
	began := make([]time.Time, len(flows))
	zero := time.Now()
	for i, f := range flows {
		time.Sleep(time.Until(zero.Add(f.Start)))
		began[i] = time.Now()
		go func() {
			c, err := connect(s.a, l)
			if err != nil {
				return
			}
			defer c.Close()
			transfer(c, i, f.Size)
		}()
	}
	if err := r.wait(); err != nil {
		return nil, err
	}
	for i := range flows {
		took = append(took, r.ended[i].Sub(began[i]))
	}
	return took, nil
}
