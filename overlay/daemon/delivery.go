package daemon

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/mono"
)

// delivery checks the frames from a peer and writes them to the device.
type delivery struct {
	tun        *tundev.Device
	mergers    *sync.Pool                          // of *merge.Merger, the device's
	allowed    func(src netip.Addr) bool           // by the peer's allowed IPs
	refused    func(now mono.Time, f *frame.Frame) // called with each frame that is not allowed
	accepted   func(frames []*frame.Frame)         // called with the frames that will be written to the device
	ready      []*frame.Frame                      // used by Flush only
	writers    *writers                            // nil before first use
	forged     atomic.Uint64                       // inner packets dropped: their source is not among the allowed IPs
	acceptedAt atomic.Int64                        // mono.Time of the latest accepted frame; 0: none
	malformed  atomic.Uint64                       // inner packets dropped: invalid headers
	aged       atomic.Uint64                       // datagrams dropped: held for order while the process was stopped
}

// Flush implements loop.App. Flush writes the peer's ordered frames to the device.
func (p *peer) Flush() (flushed bool) {
	now := p.link.Lock()
	p.delivery.ready = p.in.reassembler.TakeReady(p.delivery.ready[:0])
	var some, full uint
	if len(p.delivery.ready) > 0 {
		if p.delivery.writers == nil {
			p.delivery.writers = new(writers)
		}
		some, full = p.delivery.writers.enqueue(p.delivery.ready)
		clear(p.delivery.ready)
		if cap(p.delivery.ready) > keepOut {
			p.delivery.ready = nil
		}
	}
	to := p.delivery.writers
	p.link.Unlock()
	for i := 0; some != 0; i, some = i+1, some>>1 {
		if some&1 != 0 {
			flushed = to[i].turn.Run(full&(1<<i) != 0, func() bool { return p.delivery.drain(now, &to[i]) }) || flushed
		}
	}
	return flushed
}

func (d *delivery) drain(now mono.Time, o *writer) bool {
	frames := o.take()
	defer o.done()
	if len(frames) == 0 {
		return false
	}
	d.writeAll(now, frames)
	return true
}

// writeAll writes frames to the device. The method writeAll joins consecutive packets of a flow
// into super-frames.
func (d *delivery) writeAll(now mono.Time, frames []*frame.Frame) {
	if frames = d.filter(now, frames); len(frames) == 0 {
		return
	}
	d.acceptedAt.Store(int64(now))
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

// filter returns the frames that may be written to the device, in the same slice. The method
// filter() drops and counts frames that may not be written.
func (d *delivery) filter(now mono.Time, frames []*frame.Frame) (kept []*frame.Frame) {
	kept = frames[:0]
	for _, f := range frames {
		if d.admits(now, f) && !d.tooOld(now, f) {
			kept = append(kept, f)
		} else {
			f.Release()
		}
	}
	return kept
}

// tooOld reports whether f is a datagram that is older than the longest wait in the reordering
// buffer, and counts such datagrams. This happens only if the process was stopped while the
// datagram waited.
func (d *delivery) tooOld(now mono.Time, f *frame.Frame) bool {
	if f.Enqueued == 0 || now.Sub(f.Enqueued) <= datagramAge || packet.IsTCP(f.Data) {
		return false
	}
	d.aged.Add(1)
	return true
}

// admits reports whether the frame's inner source address is allowed for the peer, and counts
// refused frames.
func (d *delivery) admits(now mono.Time, f *frame.Frame) bool {
	src, ok := source(f.Data)
	if !ok {
		d.malformed.Add(1)
	} else if ok = d.allowed(src); !ok {
		d.refused(now, f)
	}
	return ok
}

// source returns the source address of an IP packet, or false for other bytes.
func source(b []byte) (netip.Addr, bool) {
	switch {
	case len(b) >= ipv4Header && b[0]>>4 == 4, len(b) >= ipv6Header && b[0]>>4 == 6:
		return packet.Src(b), true
	}
	return netip.Addr{}, false
}

// These constants are the lengths of the shortest IP headers in bytes.
const (
	ipv4Header = 20
	ipv6Header = 40
)
