package daemon

import (
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/loop"
)

// writerCount is how many threads can write to the device for one peer at once: as many as
// are expected to. A flow has one writer, and so stays in order; flows are many where one
// thread is not enough.
const writerCount = 8

// writers hold frames in order until the device takes them.
type writers [writerCount]writer

// writer has a share of a peer's flows.
type writer struct {
	turn  loop.Outlet
	mu    sync.Mutex
	ready []*frame.Frame // in order
	bytes int            // of ready
	out   []*frame.Frame // being written: of whose turn it is
}

// readyMost is how many bytes may wait at a writer. A thread that brings more waits too,
// and writes them. With eight writers, and as much being written, half of what a peer may
// have held for order. frameRoom is what a frame takes beside its bytes.
const (
	readyMost = 1 << 20
	frameRoom = 512
)

// keepOut is how many places for frames a writer keeps: as many as come in a round.
const keepOut = 1024

// enqueue puts frames, in the order in which they are to leave, to the writers of their flows,
// and returns which have some, and which of these are full, as bits. The peer is locked, so
// that those of a flow come in order whoever brings them.
func (v *writers) enqueue(frames []*frame.Frame) (some, full uint) {
	for len(frames) > 0 {
		at, n := frames[0].Flow%writerCount, 1
		for n < len(frames) && frames[n].Flow%writerCount == at {
			n++
		}
		o := &v[at]
		o.mu.Lock()
		o.ready = append(o.ready, frames[:n]...)
		for _, f := range frames[:n] {
			o.bytes += len(f.Data) + frameRoom
		}
		if o.bytes > readyMost {
			full |= 1 << at
		}
		o.mu.Unlock()
		some |= 1 << at
		frames = frames[n:]
	}
	return some, full
}

// take returns all that waits, until done is called.
func (o *writer) take() []*frame.Frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out, o.ready, o.bytes = o.ready, o.out[:0], 0
	return o.out
}

// done forgets what take returned: the flows may have nothing more for hours.
func (o *writer) done() {
	clear(o.out)
	if cap(o.out) > keepOut {
		o.out = nil
	}
}

// counts are those of all together.
func (v *writers) counts() (c loop.GateCounts) {
	for i := range v {
		c.Add(v[i].turn.Counts())
	}
	return c
}
