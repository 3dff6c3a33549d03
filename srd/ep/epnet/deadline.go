package epnet

import (
	"context"
	"os"
	"sync"
	"time"
)

// deadline is a time that may change while calls wait for it. A waiting call gets a context from
// the method ctx(). The zero value of a deadline never passes.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{} // closed after the time has passed
}

// set changes the time of the deadline. With the zero time, the deadline never passes.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.wait() // the old timer has expired and closes it
	}
	d.timer = nil
	if passed(d.wait()) {
		d.done = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	done := d.done
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
		return
	}
	close(done)
}

// wait returns the channel done. The caller has locked deadline.mu.
func (d *deadline) wait() chan struct{} {
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

// ctx returns a context that ends at the present deadline. A later call of set() does not extend
// the context. So a waiting call that wakes up requests a new context.
func (d *deadline) ctx() until {
	d.mu.Lock()
	defer d.mu.Unlock()
	return until{done: d.wait()}
}

func passed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// until is a context that ends when a channel is closed.
type until struct{ done chan struct{} }

var _ context.Context = until{}

// Deadline implements context.Context.
func (until) Deadline() (t time.Time, ok bool) { return t, false }

// Done implements context.Context.
func (u until) Done() <-chan struct{} { return u.done }

// Value implements context.Context.
func (until) Value(any) any { return nil }

// Err implements context.Context.
func (u until) Err() error {
	if passed(u.done) {
		return os.ErrDeadlineExceeded
	}
	return nil
}
