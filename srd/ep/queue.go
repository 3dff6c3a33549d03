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
	// OpWritten is in Receives: a peer has written to a region, and has sent immediate data.
	// It has taken a posted receive, without a byte in it.
	OpWritten
)

// Completion is the result of one work request.
type Completion struct {
	Op      Op
	Status  Status
	Context uint64 // of the SendOptions, or of PostReceive
	// Handle is the destination of a request. It is nil for a receive.
	Handle *Handle
	// From is the sender of a received message or write.
	From PublicKey
	// Data is the message in the posted buffer, and then the program's again. If a receive
	// was flushed, Data is the whole buffer. Of a read it is the buffer. It is nil for a send
	// and a write.
	Data []byte
	// Immediate is the immediate data of a received message, if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool
	// Solicited says that the sender asked for an event.
	Solicited bool
	// Region is where a peer has written, and Bytes how much. They are set with OpWritten.
	Region *Region
	Bytes  int

	// slot returns the request's place in its queue when it is polled.
	slot chan struct{}
	// quota has counted a received message.
	quota *quota
}

// Release takes a received message from the count of Config.PeerReceives. The program calls
// it once for a message, at any time, if that bound is set.
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

// Queue holds the completions of sends or of receives, in order. The depths of Config bound
// it. It is safe for concurrent use.
type Queue struct {
	q         *cq.Queue[Completion]
	solicited atomic.Bool // only solicited completions and failures make an event
}

func newQueue() *Queue { return &Queue{q: cq.New[Completion]()} }

// Poll moves the oldest completions into v and returns how many there were. It neither
// waits nor allocates.
func (q *Queue) Poll(v []Completion) int {
	n, _ := q.q.Poll(v)
	free(v[:n])
	return n
}

// free returns the places of completions that were polled.
func free(v []Completion) {
	for i := range v {
		<-v[i].slot
		v[i].slot = nil
	}
}

// Event returns a channel that has a token after a completion was added. One token may
// stand for many completions: poll until none is left.
func (q *Queue) Event() <-chan struct{} { return q.q.Event() }

// Solicited chooses what makes an event. If only is true, these are solicited messages and
// failures. Otherwise each completion makes one.
func (q *Queue) Solicited(only bool) {
	q.solicited.Store(only)
	if !only && q.len() > 0 {
		q.q.Signal()
	}
}

// Wait is Poll that waits for an event if there is no completion. It returns ErrClosed when
// the endpoint is closed and no completion is left, or the error of ctx.
func (q *Queue) Wait(ctx context.Context, v []Completion) (int, error) {
	n, err := q.q.Wait(ctx, v, ErrClosed)
	free(v[:n])
	return n, err
}

// add appends a completion. Its slot has room for it by then.
func (q *Queue) add(c Completion) {
	q.q.Add(c)
	if !q.solicited.Load() || c.Solicited || c.Status != StatusOK {
		q.q.Signal()
	}
}

// close ends Wait. Nothing is added after it.
func (q *Queue) close() { q.q.Close() }

// len returns the number of completions.
func (q *Queue) len() int { return q.q.Len() }
