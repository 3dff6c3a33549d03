package msg

import (
	"context"

	"github.com/srdtun/srdtun/internal/cq"
	"github.com/srdtun/srdtun/srd/ep"
)

// Op is the kind of a completion.
type Op uint8

const (
	OpSend Op = iota
	OpReceive
	// OpReleased is the last completion of ReceiveMulti: the buffer belongs to the program again.
	OpReleased
)

// Completion is the result of a send or a receive.
type Completion struct {
	Op  Op
	Err error // nil, an ep.Status, ErrTruncated, ErrCanceled or ErrForgotten
	// Context is the number from the Options of the send, or from the call that posted the
	// receive.
	Context uint64
	// Handle is the destination of a send. For a receive, Handle is nil.
	Handle *Handle
	// From is the sender of a received message, and Tag its tag.
	From ep.PublicKey
	Tag  uint64
	// Data is the received message, or its beginning if the message is longer than the buffer. With
	// OpReleased, or if no message was received, Data is the whole buffer.
	Data []byte
	// Size is the length of the message at its sender, in bytes.
	Size int
	// Immediate is the immediate data of a received message, if HasImmediate is true.
	Immediate    uint32
	HasImmediate bool

	slot chan struct{} // channel from which a token is taken when the completion is polled
}

// Queue holds the completions of sends or of receives. Config.Endpoint bounds the number of
// completions. A Queue is safe for concurrent use.
type Queue struct{ q *cq.Queue[Completion] }

func newQueue() *Queue { return &Queue{cq.New[Completion]()} }

// Poll moves the oldest completions into v and returns their number. Poll neither waits nor
// allocates.
func (q *Queue) Poll(v []Completion) int {
	n, _ := q.q.Poll(v)
	free(v[:n])
	return n
}

// Event returns a channel that gets a token when a completion is added. One token may stand for
// many completions, so call Poll until it returns zero.
func (q *Queue) Event() <-chan struct{} { return q.q.Event() }

// Wait is like Poll, but waits while there is no completion. Wait returns ep.ErrClosed if the
// endpoint is closed and no completion is left, or the error of ctx.
func (q *Queue) Wait(ctx context.Context, v []Completion) (int, error) {
	n, err := q.q.Wait(ctx, v, ep.ErrClosed)
	free(v[:n])
	return n, err
}

func free(v []Completion) {
	for i := range v {
		if v[i].slot != nil {
			<-v[i].slot
			v[i].slot = nil
		}
	}
}

func (q *Queue) add(c Completion) {
	q.q.Add(c)
	q.q.Signal()
}
