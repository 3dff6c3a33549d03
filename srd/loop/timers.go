package loop

import (
	"container/heap"
	"sync"

	"github.com/srdtun/srdtun/srd/mono"
)

// timers holds a worker's deadlines, earliest first. A peer without a deadline is not in the
// heap, so an idle peer costs nothing.
type timers struct {
	mu    sync.Mutex
	heap  []*Peer
	armed mono.Time         // time of the worker's timer; Never: not set
	arm   func(t mono.Time) // sets the worker's timerfd
	fires mono.Time         // when the timer expires; 0: it has expired
}

// set sets the deadline of p to the time `at`. If the deadline is before the time of the
// worker's timer, set() moves the timer at once. Otherwise it moves the timer only if the timer
// would soon expire without a deadline. So most changes of a deadline need no system call.
func (t *timers) set(now mono.Time, p *Peer, at mono.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case at == mono.Never && p.place >= 0:
		heap.Remove((*order)(t), p.place)
	case at == mono.Never:
	case p.place < 0:
		p.at = at
		heap.Push((*order)(t), p)
	case p.at != at:
		p.at = at
		heap.Fix((*order)(t), p.place)
	}
	if at < t.armed || t.early(now) {
		t.armed = t.heap[0].at
		t.arm(t.armed)
	}
}

// A timer that is earlier than the first deadline is moved if it expires within 1/aheadPart of
// the time to that deadline. If it were never moved, it would wake the worker for nothing
// whenever packets postpone a deadline. On a virtual machine a wake-up costs as much as a
// packet, and setting the timer costs half as much. With an aheadPart of four, each packet would
// move the timer between the short deadline of an acknowledgement and the longer deadline of a
// retransmission.
const aheadPart = 8

// early reports whether the timer soon expires although no deadline is near.
func (t *timers) early(now mono.Time) bool {
	return now < t.armed && len(t.heap) > 0 && aheadPart*t.armed.Sub(now) < t.heap[0].at.Sub(now)
}

func (t *timers) remove(now mono.Time, p *Peer) { t.set(now, p, mono.Never) }

// After stop(), the function arm() does nothing. The kernel may soon reuse the descriptor of the
// worker's timer for another file.
func (t *timers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arm = func(mono.Time) {}
}

// due removes and returns one peer whose deadline has come. If no deadline has come, due() sets
// the timer for the earliest deadline and returns nil.
func (t *timers) due(now mono.Time) *Peer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.heap) > 0 && t.heap[0].at <= now {
		return heap.Pop((*order)(t)).(*Peer)
	}
	t.armed = mono.Never
	if len(t.heap) > 0 {
		t.armed = t.heap[0].at
		t.arm(t.armed)
	}
	return nil
}

// fired returns the time at which the timer that woke the worker fired, or 0 if it is unknown.
func (t *timers) fired() mono.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.fires
	t.fires = 0
	return at
}

// order implements heap.Interface for timers.
type order timers

func (o *order) Len() int           { return len(o.heap) }
func (o *order) Less(i, j int) bool { return o.heap[i].at < o.heap[j].at }
func (o *order) Swap(i, j int) {
	o.heap[i], o.heap[j] = o.heap[j], o.heap[i]
	o.heap[i].place, o.heap[j].place = i, j
}
func (o *order) Push(x any) {
	p := x.(*Peer)
	p.place = len(o.heap)
	o.heap = append(o.heap, p)
}
func (o *order) Pop() any {
	n := len(o.heap) - 1
	p := o.heap[n]
	o.heap[n] = nil
	o.heap = o.heap[:n]
	p.place = -1
	return p
}
