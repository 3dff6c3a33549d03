package epnet

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

const (
	// receives is the number of received frames that may wait for the goroutine that handles them.
	receives = 256
	// backlogMost bounds the streams that wait for Accept.
	backlogMost = 128
	// streamsMost bounds the streams that one peer has opened. The windows of 128 streams occupy
	// 64 MiB.
	streamsMost = 128
	// defaultKeepAlive equals the keep-alive interval of TCP connections in package net.
	defaultKeepAlive = 15 * time.Second
	// lingerMost bounds the time for which Close sends the rest of streams. A path's failure takes
	// less time.
	lingerMost = 5 * time.Second
)

// ErrRefused means that the peer does not accept the stream.
var ErrRefused = errors.New("epnet: the peer refused the stream")

// streamKey identifies a stream at one end.
type streamKey struct {
	peer ep.PublicKey
	id   uint64
	ours bool // this end opened the stream
}

// Streams carries byte streams over an endpoint. A Streams value takes over the endpoint's
// receives and completion queues. Streams is safe for concurrent use.
type Streams struct {
	e       *ep.Endpoint
	backlog chan *conn
	closed  chan struct{}
	empty   chan struct{} // after Close: closed when no stream is left
	wg      sync.WaitGroup
	frames  sync.Pool // buffers of frames, as *[]byte

	bad atomic.Uint64

	mu       sync.Mutex
	streams  map[streamKey]*conn
	handles  map[*ep.Handle]*conn
	opened   map[ep.PublicKey]int        // streams that a peer has opened
	answers  map[ep.PublicKey]*ep.Handle // see the method keep()
	listener *listener
}

// NewStreams takes over an endpoint. The endpoint's Config.ReceiveDepth must be at least 256,
// and its Config.SendDepth at least 128.
func NewStreams(e *ep.Endpoint) (*Streams, error) {
	s := &Streams{
		e: e, backlog: make(chan *conn, backlogMost), closed: make(chan struct{}), empty: make(chan struct{}),
		streams: map[streamKey]*conn{}, handles: map[*ep.Handle]*conn{}, opened: map[ep.PublicKey]int{}, answers: map[ep.PublicKey]*ep.Handle{},
	}
	s.frames.New = func() any { b := make([]byte, 0, ep.EagerMost); return &b }
	for range receives {
		if err := e.PostReceive(make([]byte, ep.EagerMost), 0); err != nil {
			return nil, err
		}
	}
	s.wg.Go(s.receive)
	s.wg.Go(s.complete)
	s.wg.Go(s.keepAlive)
	return s, nil
}

// Addr returns this end's address.
func (s *Streams) Addr() net.Addr { return Addr{Key: s.e.PublicKey()} }

// Bad returns the number of dropped frames of peers: frames that broke the rules, or whose
// stream was unknown. A few dropped frames are normal after streams end.
func (s *Streams) Bad() uint64 { return s.bad.Load() }

// Close breaks all open streams and closes the endpoint. Streams that were closed before first send
// the data that was written, for at most five seconds.
func (s *Streams) Close() error {
	s.mu.Lock()
	if passed(s.closed) {
		s.mu.Unlock()
		return nil
	}
	close(s.closed)
	for key, c := range s.streams {
		c.mu.Lock()
		if !c.closed {
			c.fail(net.ErrClosed)
			delete(s.streams, key)
		}
		c.mu.Unlock()
	}
	s.lastLeft()
	s.mu.Unlock()
	select {
	case <-s.empty:
	case <-time.After(lingerMost):
	}
	err := s.e.Close()
	s.wg.Wait()
	return err
}

// lastLeft ends the wait of Close if no stream is left. The caller holds Streams.mu.
func (s *Streams) lastLeft() {
	if len(s.streams) == 0 && passed(s.closed) && !passed(s.empty) {
		close(s.empty)
	}
}

// Dial opens a stream to a peer, which must be listening. Without addresses, packets are sent
// to the address from which the peer sends. Dial returns an error of ep.Endpoint.Send, the
// ep.Status for an unreachable peer, ErrRefused, or the error of ctx.
func (s *Streams) Dial(ctx context.Context, key ep.PublicKey, addrs ...netip.AddrPort) (net.Conn, error) {
	h, err := s.e.Handle(key, addrs...)
	if err != nil {
		return nil, err
	}
	var id [8]byte
	rand.Read(id[:])
	c := newConn(s, streamKey{key, binary.BigEndian.Uint64(id[:]), true}, h)
	s.mu.Lock()
	s.add(c)
	s.keep(key, addrs)
	s.mu.Unlock()
	if err := c.dial(ctx); err != nil {
		c.mu.Lock()
		c.fail(err)
		c.closed = true
		c.mu.Unlock()
		s.forget(c)
		return nil, &net.OpError{Op: "dial", Net: network, Source: s.Addr(), Addr: c.RemoteAddr(), Err: err}
	}
	return c, nil
}

// dial waits until the peer has accepted the stream.
func (c *conn) dial(ctx context.Context) error {
	c.mu.Lock()
	c.send(frameOpen, 0, nil)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		err, opened := c.err, c.opened
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if err == errReset {
			return ErrRefused
		} else if err != nil {
			return err
		} else if opened {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add adds a stream to the tables. The caller holds Streams.mu.
func (s *Streams) add(c *conn) {
	s.streams[c.key], s.handles[c.handle] = c, c
	if !c.key.ours {
		s.opened[c.key.peer]++
	}
}

// forget removes a stream that has ended. Its unacknowledged frames are flushed.
func (s *Streams) forget(c *conn) {
	s.mu.Lock()
	if s.streams[c.key] == c {
		delete(s.streams, c.key)
		delete(s.handles, c.handle)
		if !c.key.ours {
			if s.opened[c.key.peer]--; s.opened[c.key.peer] == 0 {
				delete(s.opened, c.key.peer)
			}
		}
		s.lastLeft()
	}
	s.mu.Unlock()
	c.handle.Close()
}

// send sends a frame without waiting.
func (s *Streams) send(h *ep.Handle, f *frame, o ep.SendOptions) error {
	b := s.frames.Get().(*[]byte)
	*b = f.append((*b)[:0])
	err := s.e.TrySend(h, *b, o)
	s.frames.Put(b)
	return err
}

// receive handles the peers' frames.
func (s *Streams) receive() {
	batch := make([]ep.Completion, 32)
	for {
		n, err := s.e.Receives().Wait(context.Background(), batch)
		if err != nil {
			return
		}
		for i := range batch[:n] {
			c := &batch[i]
			if c.Err() != nil {
				continue
			}
			s.handle(c.From, c.Data)
			if s.e.PostReceive(c.Data[:cap(c.Data)], 0) != nil {
				return // the endpoint closes
			}
		}
	}
}

// handle handles one frame.
func (s *Streams) handle(from ep.PublicKey, b []byte) {
	f, ok := parseFrame(b)
	if !ok {
		s.bad.Add(1)
		return
	}
	key := streamKey{from, f.id, !f.opener}
	s.mu.Lock()
	c := s.streams[key]
	switch {
	case c != nil:
		s.mu.Unlock()
		if !c.got(&f) {
			s.bad.Add(1)
		}
		s.settle(c)
		return
	case f.kind == frameOpen && f.opener && s.accept(key):
	case f.kind != frameReset:
		s.bad.Add(1)
		s.refuse(&f, from)
	}
	s.mu.Unlock()
}

// settle removes a stream if it has ended.
func (s *Streams) settle(c *conn) {
	c.mu.Lock()
	over := c.over()
	c.mu.Unlock()
	if over {
		s.forget(c)
	}
}

// accept makes the stream for an open frame of a peer. If no listener accepts the stream,
// accept() returns false. The caller holds Streams.mu.
func (s *Streams) accept(key streamKey) bool {
	if s.listener == nil || passed(s.closed) || s.opened[key.peer] >= streamsMost || len(s.backlog) == backlogMost {
		return false
	}
	h, err := s.e.Handle(key.peer)
	if err != nil {
		return false
	}
	c := newConn(s, key, h)
	s.add(c)
	c.mu.Lock()
	c.send(frameWindow, window, nil)
	c.mu.Unlock()
	s.backlog <- c // there is room, because only this goroutine adds streams
	return true
}

// refuse answers a frame of an unknown stream with a reset. The caller holds Streams.mu.
func (s *Streams) refuse(f *frame, from ep.PublicKey) {
	h := s.keep(from, nil)
	if h == nil {
		return
	}
	// If the handle's queue is full, this reset is not sent. The next frame of the peer causes
	// another reset.
	s.send(h, &frame{kind: frameReset, opener: !f.opener, id: f.id}, ep.SendOptions{Context: frameReset})
}

// keep returns a handle that keeps the session with a peer alive after its last stream ends. If
// the endpoint is closed, keep() returns nil. The caller holds Streams.mu.
func (s *Streams) keep(key ep.PublicKey, addrs []netip.AddrPort) *ep.Handle {
	h := s.answers[key]
	if h == nil {
		var err error
		if h, err = s.e.Handle(key, addrs...); err != nil {
			return nil
		}
		s.answers[key] = h
	}
	return h
}

// complete handles the results of frames. A stream sends its next frames after all results of a
// batch, so that they leave in one train.
func (s *Streams) complete() {
	batch := make([]ep.Completion, 32)
	for some := []*conn(nil); ; {
		n, err := s.e.Sends().Wait(context.Background(), batch)
		if err != nil {
			return
		}
		for i := range batch[:n] {
			done := &batch[i]
			s.mu.Lock()
			c := s.handles[done.Handle]
			s.mu.Unlock()
			if c == nil {
				continue
			}
			c.sent(byte(done.Context), done.Status)
			if !slices.Contains(some, c) {
				some = append(some, c)
			}
		}
		for _, c := range some {
			c.more()
			s.settle(c)
		}
		clear(some)
		some = some[:0]
	}
}

// keepAlive sends a frame on each stream without a frame since the last check. Otherwise
// readers would wait for ever for a peer that failed silently.
func (s *Streams) keepAlive() {
	tick := time.NewTicker(defaultKeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		for _, c := range s.streams {
			c.mu.Lock()
			if c.quiet && c.err == nil {
				c.send(frameAlive, 0, nil)
			}
			c.quiet = true
			c.mu.Unlock()
		}
		s.mu.Unlock()
	}
}
