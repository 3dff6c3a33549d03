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
	now   *until
}

// set changes the time of the deadline. With the zero time, the deadline never passes.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := d.present().done
	if d.timer != nil && !d.timer.Stop() {
		<-done // the old timer has expired and closes it
	}
	d.timer = nil
	if passed(done) {
		done = make(chan struct{})
	}
	d.now = &until{done, t}
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
		return
	}
	close(done)
}

// setAll changes several deadlines to the same time.
func setAll(t time.Time, deadlines []*deadline) {
	for _, d := range deadlines {
		d.set(t)
	}
}

// present returns the present context. The caller has locked deadline.mu.
func (d *deadline) present() *until {
	if d.now == nil {
		d.now = &until{done: make(chan struct{})}
	}
	return d.now
}

// ctx returns a context that ends at the present deadline. A later call of set() does not extend
// the context. So a waiting call that wakes up requests a new context.
func (d *deadline) ctx() *until {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.present()
}

func passed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// until is the context of a deadline.
type until struct {
	done chan struct{} // closed after the time has passed
	at   time.Time     // zero: never
}

var _ context.Context = (*until)(nil)

// Deadline implements context.Context.
func (u *until) Deadline() (t time.Time, ok bool) { return u.at, !u.at.IsZero() }

// Done implements context.Context.
func (u *until) Done() <-chan struct{} { return u.done }

// Value implements context.Context.
func (*until) Value(any) any { return nil }

// Err implements context.Context. Timers run late, and two timers of the same time at different
// moments. So Err also compares the time.
func (u *until) Err() error {
	if passed(u.done) || !u.at.IsZero() && !time.Now().Before(u.at) {
		return os.ErrDeadlineExceeded
	}
	return nil
}
