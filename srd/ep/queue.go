package ep

import (
	"context"
	"sync"
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
}

// Err returns nil if the request succeeded, otherwise its status.
func (c *Completion) Err() error { return c.Status.Err() }

// Queue holds the completions of sends or of receives, in order. The depths of Config bound
// it. It is safe for concurrent use.
type Queue struct {
	event chan struct{}
	done  chan struct{} // closed with the endpoint

	mu        sync.Mutex
	ring      []Completion // its length is a power of two
	head, n   int
	solicited bool // only solicited completions and failures make an event
}

func newQueue() *Queue {
	return &Queue{event: make(chan struct{}, 1), done: make(chan struct{})}
}

// Poll moves the oldest completions into v and returns how many there were. It neither
// waits nor allocates.
func (q *Queue) Poll(v []Completion) int {
	n, _ := q.poll(v)
	return n
}

func (q *Queue) poll(v []Completion) (n int, more bool) {
	q.mu.Lock()
	for n < len(v) && q.n > 0 {
		c := &q.ring[q.head]
		v[n], *c = *c, Completion{}
		q.head = (q.head + 1) & (len(q.ring) - 1)
		q.n--
		n++
	}
	more = q.n > 0
	q.mu.Unlock()
	for i := range v[:n] {
		<-v[i].slot
		v[i].slot = nil
	}
	return n, more
}

// Event returns a channel that has a token after a completion was added. One token may
// stand for many completions: poll until none is left.
func (q *Queue) Event() <-chan struct{} { return q.event }

// Solicited chooses what makes an event. If only is true, these are solicited messages and
// failures. Otherwise each completion makes one.
func (q *Queue) Solicited(only bool) {
	q.mu.Lock()
	q.solicited = only
	pending := !only && q.n > 0
	q.mu.Unlock()
	if pending {
		q.signal()
	}
}

// Wait is Poll that waits for an event if there is no completion. It returns ErrClosed when
// the endpoint is closed and no completion is left, or the error of ctx.
func (q *Queue) Wait(ctx context.Context, v []Completion) (int, error) {
	if len(v) == 0 {
		return 0, nil
	}
	for {
		if n, more := q.poll(v); n > 0 {
			if more {
				q.signal() // other goroutines may wait
			}
			return n, nil
		}
		select {
		case <-q.event:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-q.done:
			if n, _ := q.poll(v); n > 0 {
				return n, nil
			}
			return 0, ErrClosed
		}
	}
}

func (q *Queue) signal() {
	select {
	case q.event <- struct{}{}:
	default:
	}
}

// add appends a completion. Its slot has room for it by then.
func (q *Queue) add(c Completion) {
	q.mu.Lock()
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = c
	q.n++
	event := !q.solicited || c.Solicited || c.Status != StatusOK
	q.mu.Unlock()
	if event {
		q.signal()
	}
}

func (q *Queue) grow() {
	ring := make([]Completion, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}

// close ends Wait. Nothing is added after it.
func (q *Queue) close() { close(q.done) }

// len returns the number of completions.
func (q *Queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}
