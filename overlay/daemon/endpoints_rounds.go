package daemon

import (
	"sync"
	"time"
)

// placeMost bounds the wait of a change for follow. A round with thousands of peers takes a second on
// a busy host.
const placeMost = 10 * time.Second

// rounds lets a change wait until follow has placed the peers, so that its answer comes when it is in
// force.
type rounds struct {
	wake chan struct{} // tells follow of a change

	mu     sync.Mutex
	runs   bool          // follow runs
	noted  uint64        // changes
	placed uint64        // of these, changes that a round has seen
	ended  chan struct{} // closed at the end of a round; nil: nobody waits
}

// note makes follow look at the peers. The running configuration has the change already.
func (r *rounds) note() {
	r.mu.Lock()
	r.noted++
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // follow is going to look
	}
}

// wait returns when a round has seen all changes until now.
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

// next returns the end of the next round, or nil if no round is needed.
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

// begin starts a round, and returns a function that ends it.
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

// stop ends all waits: there is no further round.
func (r *rounds) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = false
	r.tell()
}

// tell wakes those that wait. The caller holds mu.
func (r *rounds) tell() {
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}
