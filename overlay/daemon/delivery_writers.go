package daemon

import (
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/loop"
)

// writerCount bounds the threads that write to the device for one peer at once. The number
// suffices for the largest expected host. Each flow has one writer, and so stays in order. If
// one thread is too slow, there are many flows to share among writers.
const writerCount = 8

// writers hold ordered frames until the device takes them.
type writers [writerCount]writer

// writer holds the ordered frames of some of a peer's flows.
type writer struct {
	turn  loop.Outlet
	mu    sync.Mutex
	ready []*frame.Frame // in order
	bytes int            // of ready
	out   []*frame.Frame // being written; owned by the holder of turn
}

// readyMost bounds the bytes that wait at a writer. A thread that adds more waits for its turn,
// and writes the frames itself. Eight writers, with as many bytes being written, hold half of a
// peer's bound for reordering. A frame takes frameRoom of memory beside its bytes.
const (
	readyMost = 1 << 20
	frameRoom = 512
)

// keepOut bounds the room for frames that a writer keeps: one round's frames.
const keepOut = 1024

// enqueue gives frames to the writers of their flows, in order. It returns two sets of writers
// as bit masks: the writers that got frames, and those that are full. The caller holds the
// peer's lock, so frames of a flow stay in order among threads.
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

// take returns all waiting frames. They are valid until the caller calls done.
func (o *writer) take() []*frame.Frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out, o.ready, o.bytes = o.ready, o.out[:0], 0
	return o.out
}

// done releases the frames of take, because the flows may be idle for hours.
func (o *writer) done() {
	clear(o.out)
	if cap(o.out) > keepOut {
		o.out = nil
	}
}
