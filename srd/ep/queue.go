package ep

import (
	"context"
	"sync/atomic"

	"github.com/srdtun/srdtun/internal/cq"
)

// Op is the kind of a work request.
type Op uint8

// These are the kinds.
const (
	OpSend Op = iota
	OpReceive
	OpWrite
	OpRead
	// OpWritten comes to Receives: a peer has written to a region and sent immediate data. It
	// uses up a posted receive, without writing to its buffer.
	OpWritten
)

// Completion is the result of one work request.
type Completion struct {
	Op      Op
	Status  Status
	Context uint64 // as in SendOptions or PostReceive
	// Handle is the destination of a request. It is nil for a receive.
	Handle *Handle
	// From is the sender of a received message or write.
	From PublicKey
	// Data is the message in the posted buffer, which then belongs to the program again. For a
	// flushed receive it is the whole buffer, and for a read the buffer. It is nil for a send or
	// a write.
	Data []byte
	// Immediate is the immediate data of a received message, if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool
	// Solicited says that the sender asked for an event.
	Solicited bool
	// Region is the region that a peer has written to, and Bytes the number of bytes. OpWritten
	// sets them.
	Region *Region
	Bytes  int

	// slot gets the request's place back when the completion is polled.
	slot chan struct{}
	// quota is set if it counts the received message.
	quota *quota
}

// Release removes a received message from the count of Config.PeerReceives. If that bound is set,
// the program calls Release once for each message, at any time.
func (c *Completion) Release() {
	if c.quota == nil {
		return
	}
	tell := c.quota.give()
	c.quota = nil
	if tell != nil {
		tell.announce(1)
	}
}

// Err returns nil if the request succeeded, otherwise its status.
func (c *Completion) Err() error { return c.Status.Err() }

// Queue holds the completions of sends or of receives in order. Config bounds its length. It is
// safe for concurrent use.
type Queue struct {
	q         *cq.Queue[Completion]
	solicited atomic.Bool // only solicited completions and failures make an event
}

func newQueue() *Queue { return &Queue{q: cq.New[Completion]()} }

// Poll moves the oldest completions into v and returns their number. It neither waits nor
// allocates.
func (q *Queue) Poll(v []Completion) int {
	n, _ := q.q.Poll(v)
	free(v[:n])
	return n
}

// free returns the slots of polled completions.
func free(v []Completion) {
	for i := range v {
		<-v[i].slot
		v[i].slot = nil
	}
}

// Event returns a channel that gets a token after a completion is added. One token may stand for
// many completions, so poll until none is left.
func (q *Queue) Event() <-chan struct{} { return q.q.Event() }

// Solicited selects which completions make an event: only solicited messages and failures, or
// all.
func (q *Queue) Solicited(only bool) {
	q.solicited.Store(only)
	if !only && q.len() > 0 {
		q.q.Signal()
	}
}

// Wait is like Poll, but waits for a completion if there is none. It returns ErrClosed if the
// endpoint is closed and no completion is left, or the error of ctx.
func (q *Queue) Wait(ctx context.Context, v []Completion) (int, error) {
	n, err := q.q.Wait(ctx, v, ErrClosed)
	free(v[:n])
	return n, err
}

// add appends a completion. Its slot guarantees room for it.
func (q *Queue) add(c Completion) {
	q.q.Add(c)
	if !q.solicited.Load() || c.Solicited || c.Status != StatusOK {
		q.q.Signal()
	}
}

// close ends Wait. No completion is added afterwards.
func (q *Queue) close() { q.q.Close() }

// len returns the number of completions.
func (q *Queue) len() int { return q.q.Len() }
