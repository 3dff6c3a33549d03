package ep

import (
	"context"
	"sync/atomic"

	"github.com/srdtun/srdtun/internal/cq"
)

// Op is the kind of a work request.
type Op uint8

const (
	OpSend Op = iota
	OpReceive
	OpWrite
	OpRead
	// A completion with OpWritten, in the queue of Receives, means that a peer has written to a
	// region and sent immediate data. It uses up a posted receive, but leaves the buffer of the
	// receive unchanged.
	OpWritten
)

// Completion is the result of one work request.
type Completion struct {
	Op      Op
	Status  Status
	Context uint64 // number from SendOptions or PostReceive
	// Handle is the destination of a request. For a receive, Handle is nil.
	Handle *Handle
	// From is the sender of a received message or write.
	From PublicKey
	// Data is the message in the posted buffer, which belongs to the program again. For a
	// flushed receive, Data is the whole buffer. For a read, Data is the buffer of the read. For
	// a send or a write, Data is nil.
	Data []byte
	// Immediate is the immediate data of a received message, if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool
	// Solicited says that the sender requested an event.
	Solicited bool
	// Region is the region that a peer has written to, and Bytes the number of bytes written.
	// Only OpWritten sets Region and Bytes.
	Region *Region
	Bytes  int

	// slot is the channel from which a token is taken when the completion is polled.
	slot chan struct{}
	// quota is the quota that counts the received message; nil: none.
	quota *quota
}

// Release removes a received message from the count of Config.PeerReceives. If PeerReceives is
// set, the program calls Release once for each message, at any time.
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

// Err returns nil if the request succeeded, otherwise the request's status.
func (c *Completion) Err() error { return c.Status.Err() }

// Queue holds the completions of sends or of receives in order. Config.SendDepth and
// Config.ReceiveDepth bound the number of completions. A Queue is safe for concurrent use.
type Queue struct {
	q         *cq.Queue[Completion]
	solicited atomic.Bool // only solicited completions and failures cause an event
}

func newQueue() *Queue { return &Queue{q: cq.New[Completion]()} }

// Poll moves the oldest completions into v and returns their number. Poll neither waits nor
// allocates.
func (q *Queue) Poll(v []Completion) int {
	n, _ := q.q.Poll(v)
	free(v[:n])
	return n
}

// free returns the slots of polled completions.
func free(v []Completion) {
	notePoll()
	for i := range v {
		<-v[i].slot
		v[i].slot = nil
	}
}

// Event returns a channel that gets a token when a completion is added. One token may stand for
// many completions, so call Poll until it returns zero.
func (q *Queue) Event() <-chan struct{} { return q.q.Event() }

// Solicited selects the completions that cause an event. If `only` is true, only solicited
// messages and failures cause events. Otherwise all completions do.
func (q *Queue) Solicited(only bool) {
	q.solicited.Store(only)
	if !only && q.len() > 0 {
		q.q.Signal()
	}
}

// Wait is like Poll, but waits while there is no completion. Wait returns ErrClosed if the
// endpoint is closed and no completion is left, or the error of ctx.
func (q *Queue) Wait(ctx context.Context, v []Completion) (int, error) {
	n, err := q.q.Wait(ctx, v, ErrClosed)
	free(v[:n])
	return n, err
}

// add appends a completion. The slot of the request or receive guarantees that there is room.
func (q *Queue) add(c Completion) {
	q.q.Add(c)
	if !q.solicited.Load() || c.Solicited || c.Status != StatusOK {
		q.q.Signal()
	}
}

// close ends Wait. After close(), no completion is added.
func (q *Queue) close() { q.q.Close() }

func (q *Queue) len() int { return q.q.Len() }
