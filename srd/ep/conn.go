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

// Errors of an endpoint and its connections. A peer that closes is io.EOF.
var (
	// ErrClosed: this end has closed it.
	ErrClosed = errors.New("ep: closed")
	// ErrReset: the peer is another process than before, or has not answered for so long
	// that it is taken for gone. What is not acknowledged may have arrived or not.
	ErrReset = errors.New("ep: connection reset: the peer restarted or is gone")
	// ErrProtocol: the peer is there, and speaks something else.
	ErrProtocol = errors.New("ep: the peer speaks another protocol")
	// ErrPeer: the peer broke the rules of this package.
	ErrPeer = errors.New("ep: the peer sent what it must not send")
	// ErrTooLarge: a message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("ep: message larger than %d bytes", MaxMessage)
	// ErrBusy: there is a connection with that peer already.
	ErrBusy = errors.New("ep: there is a connection with this peer")
)

// Status is what became of a message.
type Status = srd.Status

// The statuses. One that is not Acknowledged may have arrived as well.
const (
	Acknowledged = srd.Acknowledged // the peer's transport has it
	GivenUp      = srd.GivenUp      // its deadline is over
	Reset        = srd.Reset        // the connection has ended
)

// Message is what is sent.
type Message struct {
	Data []byte // at most MaxMessage bytes; Send copies them
	// Deadline is how long it is worth sending and repairing, counted from Send: at most
	// 71 minutes. 0: it is reliable, and repaired until the peer has it or is gone.
	Deadline time.Duration
	// Done, if it is not nil, is called once with what became of the message, after Send
	// has returned nil or shortly before. It is called by a goroutine of the endpoint's or
	// by one that uses the connection: it must not wait.
	Done func(Status)
}

// Conn is a connection with one peer, which ends when either side closes it, or when the
// peer is gone. It is safe for concurrent use.
type Conn struct {
	ep    *Endpoint
	link  *link
	alone bool // the endpoint is for this connection only

	// Under the link's lock.
	out     outgoing
	in      incoming
	ready   bool  // there is, or was, a session
	shown   bool  // it was put where Accept finds it
	err     error // it has ended
	changed chan struct{}
}

// Remote returns the peer's public key.
func (c *Conn) Remote() handshake.PublicKey { return c.link.remote }

// Send takes a message to be sent, and returns when it is taken: at once, unless more than
// Config.SendBuffer waits already. Errors: ErrTooLarge, that of ctx, or why the connection
// has ended.
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

// Confirm sends data, reliably, and returns nil when the peer has acknowledged it. When ctx
// ends before, it is sent all the same. Errors are those of Send, and ErrReset.
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

// Receive waits for the next message. What has arrived before the end of the connection
// comes before the error; after a Close of the peer's that is io.EOF.
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

// Drain waits until each message that was sent has a status. It returns nil if none was
// Reset.
func (c *Conn) Drain(ctx context.Context) error {
	return c.await(ctx, func() bool { return c.out.held == 0 }, func() error {
		if c.out.held == 0 && !c.out.reset {
			return nil
		}
		return cmp.Or(c.err, ErrReset)
	})
}

// Close ends the connection: the peer is told, and what has no status is Reset. Drain
// before it, if that matters. It returns nil.
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

// await waits until good is true or the connection has ended, and returns what then does.
// Both are called with the lock held.
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

// wake lets all who wait look again. The lock is held.
func (c *Conn) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// end ends the connection, unless it has ended. The lock is held.
func (c *Conn) end(err error) {
	if c.err == nil {
		c.err = err
		c.out.end()
		c.wake()
	}
}
