package daemon

import (
	"sync"
	"time"
)

// placeMost bounds the wait of a configuration change until the peers' tuples are updated. An
// update of thousands of peers takes a second on a busy host.
const placeMost = 10 * time.Second

// rounds delays the reply to a change until the function follow() has updated the peers' tuples
// in a round.
type rounds struct {
	wake chan struct{} // wakes the method follow() after a change

	mu     sync.Mutex
	runs   bool          // the method follow() runs
	noted  uint64        // number of noted changes
	placed uint64        // number of these changes that a finished round has handled
	ended  chan struct{} // closed at the end of a round; nil: nobody waits
}

// note wakes the function follow() after a change of the peers. The running configuration must
// contain the change before note() is called.
func (r *rounds) note() {
	r.mu.Lock()
	r.noted++
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // the method follow() will look anyway
	}
}

// wait returns when the method follow() has handled all changes noted before the call.
func (r *rounds) wait() {
	r.mu.Lock()
	until := r.noted
	r.mu.Unlock()
	late := time.NewTimer(placeMost)
	defer late.Stop()
	for {
		next := r.next(until)
		if next == nil {
			return
		}
		select {
		case <-next:
		case <-late.C:
			return
		}
	}
}

// next returns a channel that is closed at the end of the next round of follow(), or nil if no
// round is needed.
func (r *rounds) next(until uint64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.runs || r.placed >= until {
		return nil
	}
	if r.ended == nil {
		r.ended = make(chan struct{})
	}
	return r.ended
}

// begin marks the start of a round of follow(), and returns a function that marks the end of the
// round.
func (r *rounds) begin() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = true
	seen := r.noted
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.placed = seen
		r.tell()
	}
}

// stop ends all waits, because no further round of follow will run.
func (r *rounds) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = false
	r.tell()
}

// tell wakes the goroutines that wait for the end of a round of follow(). The caller must hold
// mu.
func (r *rounds) tell() {
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}
