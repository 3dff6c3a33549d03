package loop

import (
	"container/heap"
	"sync"

	"github.com/srdtun/srdtun/srd/mono"
)

// timers is a worker's deadlines, earliest first. A peer without a deadline is
// not in it: an idle peer costs nothing.
type timers struct {
	mu    sync.Mutex
	heap  []*Peer
	armed mono.Time         // what the worker's timer is set to; Never: not set
	arm   func(t mono.Time) // sets it
	fires mono.Time         // when it goes off; 0: it has
}

// set gives p the deadline at. The worker's timer is only ever moved forward
// here; one that goes off too early finds nothing due and is set anew, which is
// cheaper than a system call for each change.
func (t *timers) set(p *Peer, at mono.Time) {
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
	if at < t.armed {
		t.armed = at
		t.arm(at)
	}
}

func (t *timers) remove(p *Peer) { t.set(p, mono.Never) }

// stop makes timers that are set from now on do nothing. The descriptor of the
// worker's timer may soon be somebody else's.
func (t *timers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arm = func(mono.Time) {}
}

// due takes one peer out whose deadline has come. When there is none it sets the
// timer for the earliest that is left and returns nil.
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

// fired returns when the worker's timer went off that woke it; 0 if that is not known.
func (t *timers) fired() mono.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.fires
	t.fires = 0
	return at
}

// order is the heap's view of timers.
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
