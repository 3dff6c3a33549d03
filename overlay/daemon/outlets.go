package daemon

import (
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// outletCount is how many threads can write to the device for one peer at once: as many as
// are expected to. A flow has one outlet, and so stays in order; flows are many where one
// thread is not enough.
const writerCount = 8

// outlets are where frames that are in order wait for the device.
type writers [writerCount]writer

// outlet has a share of a peer's flows.
type writer struct {
	turn  loop.Outlet
	mu    sync.Mutex
	ready []*frame.Frame // in order
	bytes int            // of ready
	out   []*frame.Frame // being written: of whose turn it is
}

// readyMost is how many bytes may wait at an outlet before whoever brings more waits too,
// and writes them. With eight outlets, and as much being written, half of what a peer may
// have held for order. frameRoom is what a frame takes beside its bytes.
const (
	readyMost = 1 << 20
	frameRoom = 512
)

// keepOut is how many places for frames an outlet keeps: as many as come in a round.
const keepOut = 1024

// spread puts frames, in the order in which they are to leave, to the outlets of their flows,
// and returns which have some, and which of these are full, as bits. The peer is locked, so
// that those of a flow come in order whoever brings them.
func (v *writers) spread(frames []*frame.Frame) (some, full uint) {
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

// Flush implements loop.App: it writes what is in order to the device.
func (p *peer) Flush() (flushed bool) {
	now := p.link.Lock()
	p.delivery.ready = p.in.reassembler.TakeReady(p.delivery.ready[:0])
	var some, full uint
	if len(p.delivery.ready) > 0 {
		if p.delivery.writers == nil {
			p.delivery.writers = new(writers)
		}
		some, full = p.delivery.writers.spread(p.delivery.ready)
		clear(p.delivery.ready)
		if cap(p.delivery.ready) > keepOut {
			p.delivery.ready = nil
		}
	}
	to := p.delivery.writers
	p.link.Unlock()
	for i := 0; some != 0; i, some = i+1, some>>1 {
		if some&1 != 0 {
			flushed = to[i].turn.Run(full&(1<<i) != 0, func() bool { return p.delivery.hand(now, &to[i]) }) || flushed
		}
	}
	return flushed
}

// hand writes what waits at an outlet.
func (d *delivery) hand(now mono.Time, o *writer) bool {
	frames := o.take()
	defer o.done()
	if len(frames) == 0 {
		return false
	}
	d.writeAll(now, frames)
	return true
}

// writeAll hands frames to the kernel, packets of a flow joined where there are
// several.
func (d *delivery) writeAll(now mono.Time, frames []*frame.Frame) {
	if frames = d.sift(now, frames); len(frames) == 0 {
		return
	}
	d.accepted(frames)
	if len(frames) == 1 {
		write(d.tun, frames[0], merge.AsCame)
		return
	}
	m := d.mergers.Get().(*merge.Merger)
	defer d.mergers.Put(m)
	for _, f := range frames {
		m.Add(f)
	}
	m.Flush()
}

// sift returns the frames that the device gets, in place, and drops and counts the others.
func (d *delivery) sift(now mono.Time, frames []*frame.Frame) (kept []*frame.Frame) {
	kept = frames[:0]
	for _, f := range frames {
		if d.admits(f) && !d.tooOld(now, f) {
			kept = append(kept, f)
		} else {
			f.Release()
		}
	}
	return kept
}

// newMerger returns what joins packets for the device. It has nothing after its Flush, so
// whoever writes takes any.
func (dv *device) newMerger() any {
	return merge.New(merge.Config{UDP: dv.tun.Offloads().USO, Tunnels: dv.tun.Offloads().Tunnels, Alloc: dv.tun.Pool().Get, Write: func(f *frame.Frame, what merge.Outcome) {
		write(dv.tun, f, what)
	}})
}

// write hands a frame to the kernel. The device counts what it drops; it fails for
// good only when it is gone, which its reader notices too.
func write(dev *tundev.Device, f *frame.Frame, what merge.Outcome) {
	defer f.Release()
	if what == merge.Joined {
		_ = dev.WriteJoined(f)
	} else {
		_ = dev.Write(f)
	}
}
