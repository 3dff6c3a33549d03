package ep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
)

// These are the errors of an endpoint and its connections. After the peer closed, the
// error is io.EOF.
var (
	// ErrClosed means that this end has closed the connection.
	ErrClosed = errors.New("ep: closed")
	// ErrReset means that the peer is a new process, or has not answered for so long that
	// it counts as gone. Unacknowledged messages may have arrived or not.
	ErrReset = errors.New("ep: connection reset: the peer restarted or is gone")
	// ErrProtocol means that the peer answers, but uses another protocol.
	ErrProtocol = errors.New("ep: the peer speaks another protocol")
	// ErrPeer means that the peer broke the rules of this package.
	ErrPeer = errors.New("ep: the peer sent what it must not send")
	// ErrTooLarge means that a message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("ep: message larger than %d bytes", MaxMessage)
	// ErrBusy means that there is already a connection with that peer.
	ErrBusy = errors.New("ep: there is a connection with this peer")
)

// Status is the outcome of a message.
type Status = srd.Status

// These are the statuses. A message that is not Acknowledged may still have arrived.
const (
	Acknowledged = srd.Acknowledged // the peer's transport has it
	GivenUp      = srd.GivenUp      // its deadline has passed
	Reset        = srd.Reset        // the connection has ended
)

// Message is a message to send.
type Message struct {
	Data []byte // at most MaxMessage bytes; Send copies them
	// Deadline is how long the message is worth sending and repairing, counted from Send;
	// it is at most 71 minutes. If it is 0, the message is reliable: it is repaired until
	// the peer has it or the connection ends.
	Deadline time.Duration
	// Done, if not nil, is called once with the message's status, after Send has returned
	// nil or shortly before that. The calling goroutine belongs to the endpoint, or is
	// using the connection. So Done must not block.
	Done func(Status)
}

// Conn is a connection with one peer. It ends when either side closes it, or when the
// peer is gone. It is safe for concurrent use.
type Conn struct {
	ep    *Endpoint
	link  *link
	alone bool // the endpoint serves this connection only

	// These fields are protected by the link's lock.
	out     outgoing
	in      incoming
	ready   bool  // a session exists or existed
	shown   bool  // Accept can return it, or has
	err     error // why it has ended; nil: it has not
	changed chan struct{}
}

// Remote returns the peer's public key.
func (c *Conn) Remote() handshake.PublicKey { return c.link.remote }

// Send queues a message. It returns at once, unless messages without a status fill
// Config.SendBuffer; then it waits until there is room. It returns ErrTooLarge, the error
// of ctx, or the reason why the connection has ended.
func (c *Conn) Send(ctx context.Context, m Message) error {
	if len(m.Data) > MaxMessage {
		return ErrTooLarge
	}
	data := append(make([]byte, 0, len(m.Data)), m.Data...)
	p := c.link.peer
	err := c.await(ctx, func() bool { return c.out.held == 0 || c.out.held+cost(data) <= c.ep.buffer }, func() error {
		if c.err != nil {
			return c.err
		}
		now := c.ep.loop.Now()
		c.out.push(now, data, m.Deadline, m.Done)
		c.link.core.Connect(now)
		return nil
	})
	if err == nil {
		p.Kick()
		c.link.report()
	}
	return err
}

// Confirm sends data reliably, and returns nil when the peer has acknowledged it. If ctx
// ends first, the data is still sent. It returns the errors of Send, or ErrReset.
func (c *Conn) Confirm(ctx context.Context, data []byte) error {
	told := make(chan Status, 1)
	if err := c.Send(ctx, Message{Data: data, Done: func(s Status) { told <- s }}); err != nil {
		return err
	}
	select {
	case s := <-told:
		if s != Acknowledged {
			return ErrReset
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Receive waits for the next message. It returns messages that arrived before the end of
// the connection first, and then the error. After the peer's Close the error is io.EOF.
func (c *Conn) Receive(ctx context.Context) (data []byte, err error) {
	owes := false
	err = c.await(ctx, func() bool { return len(c.in.ready) > 0 }, func() error {
		var ok bool
		if data, ok = c.in.next(); !ok {
			return c.err
		}
		if owes = c.err == nil && c.in.owes(); owes {
			c.out.owe(c.in.taken)
		}
		return nil
	})
	if owes {
		c.link.peer.Kick()
		c.link.report()
	}
	return data, err
}

// Drain waits until each sent message has a status. It returns nil if none is Reset.
func (c *Conn) Drain(ctx context.Context) error {
	return c.await(ctx, func() bool { return c.out.held == 0 }, func() error {
		if c.out.held == 0 && !c.out.reset {
			return nil
		}
		return cmp.Or(c.err, ErrReset)
	})
}

// Close ends the connection: it notifies the peer, and messages without a status get
// Reset. Call Drain before it to wait for these messages. The result is always nil.
func (c *Conn) Close() error {
	p := c.link.peer
	p.Lock()
	current := c.link.conn == c
	c.end(ErrClosed)
	p.Unlock()
	if current {
		c.ep.leave(c.link)
	}
	c.link.report()
	if c.alone {
		return c.ep.Close()
	}
	return nil
}

// await waits until good returns true or the connection has ended, and returns the result
// of then. The lock is held in both functions.
func (c *Conn) await(ctx context.Context, good func() bool, then func() error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.link.peer.Lock()
		if c.err != nil || good() {
			err := then()
			c.link.peer.Unlock()
			return err
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.link.peer.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// wake makes all waiting goroutines check their condition again. The lock is held.
func (c *Conn) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// end ends the connection if it has not ended. The lock is held.
func (c *Conn) end(err error) {
	if c.err == nil {
		c.err = err
		c.out.end()
		c.wake()
	}
}
