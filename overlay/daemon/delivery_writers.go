package daemon

import (
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/loop"
)

// writerCount is the number of threads that can concurrently write one peer's frames to the device.
// Eight threads are enough for the largest expected host. One writer writes all frames of a flow,
// so the flow stays in order.
const writerCount = 8

// writers hold a peer's ordered frames until they are written to the device.
type writers [writerCount]writer

// writer holds the ordered frames of those flows of a peer that hash to this writer.
type writer struct {
	turn  loop.Outlet
	mu    sync.Mutex
	ready []*frame.Frame // in order
	bytes int            // of ready
	out   []*frame.Frame // being written; owned by the holder of turn
}

// readyMost bounds the bytes that wait at a writer. Each frame counts frameRoom bytes more, for its
// own memory. A thread that exceeds readyMost must write the frames itself, after any thread that
// is already writing. Eight full writers, and as many bytes that are being written, are half of the
// limit of a peer's reordering buffer.
const (
	readyMost = 1 << 20
	frameRoom = 512
)

// keepOut is the largest capacity of a slice that a writer keeps for reuse, in frames. It is enough
// for one round of the loop.
const keepOut = 1024

// enqueue adds frames to the writers of their flows, in the given order. The method enqueue()
// returns two bit masks: the writers that received frames, and the writers that are full. The
// caller holds the peer's lock, so threads cannot reorder the frames of a flow.
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

// take returns all frames that wait at the writer. The returned frames are valid until the
// caller calls the method done().
func (o *writer) take() []*frame.Frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out, o.ready, o.bytes = o.ready, o.out[:0], 0
	return o.out
}

// done clears the slice that the method take() returned, so that an idle flow holds no frames in
// memory.
func (o *writer) done() {
	clear(o.out)
	if cap(o.out) > keepOut {
		o.out = nil
	}
}
