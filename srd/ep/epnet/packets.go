package epnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

const (
	// packetMost is the longest datagram in bytes, as with UDP over IPv4.
	packetMost = 65_507
	// packetReceives is the number of received datagrams that may wait for ReadFrom. Further
	// datagrams wait at their senders.
	packetReceives = 64
	// defaultLifetime is the default time for which a datagram is sent or sent again.
	defaultLifetime = time.Second
)

// errAddr means that the address passed to WriteTo is not an Addr. UDP returns EINVAL, too.
var errAddr = fmt.Errorf("the address is no epnet.Addr: %w", syscall.EINVAL)

// tooLong means that a datagram has more than packetMost bytes. It is EMSGSIZE, as with UDP, and
// ep.ErrTooLarge.
type tooLong struct{}

func (tooLong) Error() string { return fmt.Sprintf("datagram longer than %d bytes", packetMost) }

// Is implements errors.Is.
func (tooLong) Is(target error) bool { return target == syscall.EMSGSIZE || target == ep.ErrTooLarge }

// Packets carries datagrams over an endpoint: whole, at most once, in any order. Lost datagrams
// are sent again until their lifetime ends. A Packets value implements net.PacketConn.
type Packets struct {
	e                *ep.Endpoint
	lifetime         time.Duration
	reading, writing deadline
	lost             atomic.Uint64
	closed           chan struct{} // closed by Close
	done             chan struct{} // closed after the last completion

	mu      sync.Mutex
	handles map[Addr]*ep.Handle
}

// NewPackets takes over an endpoint's receives and completion queues. The endpoint's
// Config.ReceiveDepth must be at least 64. A lifetime of 0 means one second. With a negative
// lifetime, a datagram is sent again as long as the peer responds.
func NewPackets(e *ep.Endpoint, lifetime time.Duration) (*Packets, error) {
	if lifetime == 0 {
		lifetime = defaultLifetime
	}
	p := &Packets{e: e, lifetime: max(lifetime, 0), closed: make(chan struct{}), done: make(chan struct{}), handles: map[Addr]*ep.Handle{}}
	for range packetReceives {
		if err := e.PostReceive(make([]byte, packetMost), 0); err != nil {
			return nil, err
		}
	}
	go p.complete()
	return p, nil
}

// complete counts the lost datagrams.
func (p *Packets) complete() {
	defer close(p.done)
	batch := make([]ep.Completion, 32)
	for {
		n, err := p.e.Sends().Wait(context.Background(), batch)
		if err != nil {
			return
		}
		p.lost.Add(uint64(n)) // quiet requests complete only after failures
	}
}

// Lost returns the number of datagrams that did not arrive, or may not have arrived.
func (p *Packets) Lost() uint64 { return p.lost.Load() }

// ReadFrom implements net.PacketConn. The returned address is an Addr. A datagram that is longer
// than b is truncated, as with UDP.
func (p *Packets) ReadFrom(b []byte) (n int, addr net.Addr, err error) {
	ctx := p.reading.ctx()
	for {
		if err := p.refuses(ctx); err != nil {
			return 0, nil, p.opError("read", nil, err)
		}
		var c [1]ep.Completion
		if _, err := p.e.Receives().Wait(ctx, c[:]); err != nil {
			return 0, nil, p.opError("read", nil, err)
		}
		if c[0].Err() != nil { // Close has flushed it
			continue
		}
		n = copy(b, c[0].Data)
		// PostReceive fails here only if the endpoint closes.
		p.e.PostReceive(c[0].Data[:cap(c[0].Data)], 0)
		return n, Addr{Key: c[0].From}, nil
	}
}

// refuses returns an error after Close, and after the deadline of ctx.
func (p *Packets) refuses(ctx *until) error {
	if passed(p.closed) {
		return net.ErrClosed
	}
	return ctx.Err()
}

// WriteTo implements net.PacketConn. The parameter addr must be an Addr. WriteTo waits while too
// many datagrams to that peer are unacknowledged.
func (p *Packets) WriteTo(b []byte, addr net.Addr) (n int, err error) {
	to, ok := addr.(Addr)
	if !ok {
		return 0, p.opError("write", addr, errAddr)
	}
	ctx := p.writing.ctx()
	if err := p.refuses(ctx); err != nil {
		return 0, p.opError("write", addr, err)
	}
	if len(b) > packetMost {
		return 0, p.opError("write", addr, tooLong{})
	}
	h, err := p.handle(to)
	if err == nil {
		err = p.e.Send(ctx, h, b, ep.SendOptions{Quiet: true, Timeout: p.lifetime})
	}
	if err != nil {
		return 0, p.opError("write", addr, err)
	}
	return len(b), nil
}

// handle returns the handle of an address. A program has few handles, because the endpoint must
// allow each peer.
func (p *Packets) handle(to Addr) (*ep.Handle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.handles[to]; h != nil {
		return h, nil
	}
	h, err := p.e.Handle(to.Key, to.places()...)
	if err == nil {
		p.handles[to] = h
	}
	return h, err
}

func (p *Packets) opError(op string, addr net.Addr, err error) error {
	if errors.Is(err, ep.ErrClosed) || passed(p.closed) {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: network, Source: p.LocalAddr(), Addr: addr, Err: err}
}

// Close closes the endpoint. Datagrams that were written before are first sent, until their lifetime
// ends, and for at most one second if they have no lifetime.
func (p *Packets) Close() error {
	p.mu.Lock()
	if passed(p.closed) {
		p.mu.Unlock()
		return p.opError("close", nil, net.ErrClosed)
	}
	close(p.closed)
	handles := slices.Collect(maps.Values(p.handles))
	p.mu.Unlock()
	setAll(time.Unix(0, 1), []*deadline{&p.reading, &p.writing}) // waiting calls end
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(p.lifetime, defaultLifetime))
	defer cancel()
	for _, h := range handles {
		if h.Drain(ctx) != nil {
			break
		}
	}
	err := p.e.Close()
	<-p.done
	return err
}

// LocalAddr implements net.PacketConn.
func (p *Packets) LocalAddr() net.Addr { return Addr{Key: p.e.PublicKey()} }

// SetDeadline implements net.PacketConn.
func (p *Packets) SetDeadline(t time.Time) error { return p.set(t, &p.reading, &p.writing) }

// SetReadDeadline implements net.PacketConn.
func (p *Packets) SetReadDeadline(t time.Time) error { return p.set(t, &p.reading) }

// SetWriteDeadline implements net.PacketConn.
func (p *Packets) SetWriteDeadline(t time.Time) error { return p.set(t, &p.writing) }

func (p *Packets) set(t time.Time, deadlines ...*deadline) error {
	if passed(p.closed) {
		return p.opError("set", nil, net.ErrClosed)
	}
	setAll(t, deadlines)
	return nil
}

var _ net.PacketConn = (*Packets)(nil)
