// Package cq has the queue of completions that the transports for programs share.
package cq

import (
	"context"
	"sync"
)

// Queue is a queue of completions. It has no bound of its own, because the number of requests
// limits its length. A Queue is safe for concurrent use.
type Queue[T any] struct {
	event chan struct{}
	done  chan struct{} // closed by Close

	mu      sync.Mutex
	ring    []T // its length is a power of two
	head, n int
}

// New returns an empty queue.
func New[T any]() *Queue[T] {
	return &Queue[T]{event: make(chan struct{}, 1), done: make(chan struct{})}
}

// Poll moves the oldest entries into v. The result n is the number of moved entries, and `more`
// is true if other entries are left. Poll neither waits nor allocates.
func (q *Queue[T]) Poll(v []T) (n int, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var none T
	for n < len(v) && q.n > 0 {
		v[n], q.ring[q.head] = q.ring[q.head], none
		q.head = (q.head + 1) & (len(q.ring) - 1)
		q.n--
		n++
	}
	return n, q.n > 0
}

// Event returns a channel that gets a token at each Signal. One token may stand for many
// entries.
func (q *Queue[T]) Event() <-chan struct{} { return q.event }

// Signal puts a token into the channel of Event.
func (q *Queue[T]) Signal() {
	select {
	case q.event <- struct{}{}:
	default:
	}
}

// Wait is like Poll, but waits for an event while the queue is empty. If the queue is closed and
// empty, Wait returns the error `closed`. Wait also returns the error of ctx.
func (q *Queue[T]) Wait(ctx context.Context, v []T, closed error) (int, error) {
	if len(v) == 0 {
		return 0, nil
	}
	for {
		if n, more := q.Poll(v); n > 0 {
			if more {
				q.Signal() // other goroutines may wait
			}
			return n, nil
		}
		select {
		case <-q.event:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-q.done:
			if n, _ := q.Poll(v); n > 0 {
				return n, nil
			}
			return 0, closed
		}
	}
}

// Add appends an entry, without a token for Event.
func (q *Queue[T]) Add(c T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = c
	q.n++
}

// least is the initial length of a ring, in entries.
const least = 16

func (q *Queue[T]) grow() {
	ring := make([]T, max(least, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = ring, 0
}

// Close ends Wait. After Close, no entry may be added.
func (q *Queue[T]) Close() { close(q.done) }

// Len returns the number of entries.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}
