package epnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// bufferMost bounds the number of unsent bytes that Write has accepted.
const bufferMost = 256 << 10

// errReset means that the peer has no such stream, or has reset it.
var errReset = os.NewSyscallError("stream", syscall.ECONNRESET)

// errStopped means that the peer has stopped reading.
var errStopped = os.NewSyscallError("stream", syscall.EPIPE)

// conn is a byte stream that implements net.Conn.
type conn struct {
	of     *Streams
	key    streamKey
	handle *ep.Handle

	reading, writing deadline
	turn             sync.Mutex // one Write at a time

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of these fields; nil: no call waits for it
	in      inbound
	out     outbound
	at      uint64 // offset of the first byte of `out`
	allowed uint64 // offset up to which the peer lets this end send
	flight  int    // number of unacknowledged data frames
	telling bool   // a window frame is unacknowledged
	ending  bool   // Write is over; an end frame follows the data
	ended   bool   // the end frame was sent
	gone    bool   // the end frame was accepted
	closed  bool   // Close was called
	opened  bool   // the peer has accepted the stream
	quiet   bool   // no frame has arrived since keepAlive last checked
	stopped bool   // the peer has stopped reading
	err     error  // error that ended the stream
}

func newConn(s *Streams, key streamKey, h *ep.Handle) *conn {
	return &conn{of: s, key: key, handle: h, allowed: window}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.of.Addr() }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return Addr{Key: c.key.peer} }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.set(t, &c.reading, &c.writing) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.set(t, &c.reading) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(t, &c.writing) }

func (c *conn) set(t time.Time, deadlines ...*deadline) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return c.opError("set", net.ErrClosed)
	}
	setAll(t, deadlines)
	return nil
}

// opError makes an error in the style of package net.
func (c *conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: network, Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (n int, err error) {
	err = c.await(&c.reading, func() (bool, error) {
		switch n = c.in.take(b); {
		case c.closed:
			n = 0
			return true, net.ErrClosed
		case n > 0 || len(b) == 0:
			c.tell()
			return true, nil
		case c.in.done():
			return true, io.EOF
		}
		return c.err != nil, c.err
	})
	return n, c.opError("read", err)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (n int, err error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	for {
		err = c.await(&c.writing, func() (bool, error) {
			switch {
			case c.closed || c.ending:
				return true, net.ErrClosed
			case c.err != nil:
				return true, c.err
			case c.stopped:
				return true, errStopped
			}
			m := min(len(b)-n, bufferMost-c.out.len())
			c.out.add(b[n : n+m])
			n += m
			c.pump()
			return m > 0 || n == len(b), nil
		})
		if err != nil || n == len(b) {
			return n, c.opError("write", err)
		}
	}
}

// CloseWrite ends the stream for the peer's reader. After CloseWrite, this end can still read.
func (c *conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	c.pump()
	c.wake()
	return nil
}

// Close implements net.Conn. Data that was written before Close is still sent.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.opError("close", net.ErrClosed)
	}
	c.closed, c.ending = true, true
	if !c.in.ended && c.err == nil {
		c.send(frameStop, 0, nil)
	}
	c.pump()
	c.wake()
	over := c.over()
	c.mu.Unlock()
	if over {
		c.of.forget(c)
	}
	return nil
}

// await calls the function try() until it returns true or the deadline has passed. During each
// call, await holds conn.mu.
func (c *conn) await(d *deadline, try func() (bool, error)) error {
	for {
		ctx := d.ctx()
		if err := ctx.Err(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.closed {
				return net.ErrClosed
			}
			return err
		}
		c.mu.Lock()
		if done, err := try(); done {
			c.mu.Unlock()
			return err
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// wake makes all waiting calls try again. The caller holds conn.mu.
func (c *conn) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// over reports whether the stream has ended at this end. The caller holds conn.mu.
func (c *conn) over() bool { return c.closed && (c.err != nil || c.gone && c.flight == 0) }

// send sends a frame of the stream to the peer. The handle has enough slots for all
// unacknowledged frames. The caller holds conn.mu.
func (c *conn) send(kind byte, value uint64, data []byte) { c.sendFrame(kind, value, data, false) }

// sendFrame is like send, but if `more` is true, the endpoint may delay the frame until the
// next one.
func (c *conn) sendFrame(kind byte, value uint64, data []byte, more bool) {
	f := frame{kind: kind, opener: c.key.ours, id: c.key.id, value: value, data: data}
	if err := c.of.send(c.handle, &f, ep.SendOptions{Context: uint64(kind), More: more}); err != nil {
		c.fail(err)
	}
}

// fail ends the stream with an error. The caller holds conn.mu.
func (c *conn) fail(err error) {
	if c.err == nil {
		c.err, c.out = err, outbound{}
		c.wake()
	}
}

// pump sends all frames that may be sent, in one train. The caller holds conn.mu.
func (c *conn) pump() {
	from := c.at
	for c.err == nil && c.out.len() > 0 && c.flight < flightMost && c.at < c.allowed {
		n := min(c.out.len(), segmentMost, int(c.allowed-c.at))
		c.flight++
		c.sendFrame(frameData, c.at, c.out.first(n), true)
		if c.err != nil {
			return
		}
		c.at += uint64(n)
		c.out.drop(n)
	}
	if c.at > from {
		c.handle.Push()
		c.wake()
	}
	if c.err == nil && c.ending && !c.ended && c.out.len() == 0 {
		c.ended = true
		c.send(frameEnd, c.at, nil)
	}
	if c.flight == 0 && c.out.len() == 0 {
		c.out = outbound{} // an idle stream occupies no memory
	}
}

// tell sends the peer a larger window, if no other window frame is unacknowledged. The caller
// holds conn.mu.
func (c *conn) tell() {
	if upto, worth := c.in.open(); worth && !c.telling && c.err == nil {
		c.in.told, c.telling = upto, true
		c.send(frameWindow, upto, nil)
	}
}

// sent handles the result of a frame.
func (c *conn) sent(kind byte, s ep.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != ep.StatusOK {
		c.fail(s)
		return
	}
	switch kind {
	case frameData:
		c.flight-- // the caller then calls the method more()
	case frameEnd:
		c.gone = true
	case frameWindow:
		c.telling = false
		c.tell()
	}
}

// more sends the frames that may be sent now that earlier ones were acknowledged.
func (c *conn) more() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pump()
}

// got handles a frame from the peer. If the frame breaks the protocol, got() returns false.
func (c *conn) got(f *frame) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet, c.opened, ok = false, true, true
	switch f.kind {
	case frameData:
		if ok = c.in.add(f.value, f.data); c.closed {
			c.in.read = c.in.ready // no call will read these bytes
		}
	case frameEnd:
		ok = c.in.finish(f.value)
	case frameWindow:
		c.allowed = max(c.allowed, f.value)
		c.pump()
	case frameReset:
		c.fail(errReset)
	case frameStop:
		c.stopped, c.out = true, outbound{}
		c.pump()
	case frameOpen:
		ok = false
	}
	if !ok {
		c.send(frameReset, 0, nil)
		c.fail(errProtocol)
	}
	c.wake()
	return ok
}

var (
	errProtocol  = errors.New("epnet: the peer sent what it must not send")
	errListening = errors.New("epnet: there is a listener")
)
