// Package frame is the unit the overlay carries: one inner IP packet, or one
// super-frame (a TCP or UDP segmentation-offload frame of up to 64 KiB) with
// the facts needed to write it out again at the other end.
//
// A frame has one owner at a time. References are counted because the frame
// that was read from the TUN device is also the retransmit buffer of every
// message cut from it; the last Release gives the buffer back to its pool.
package frame

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// GSO says how the kernel is to cut a frame into packets.
type GSO uint8

// The kinds of segmentation that cross the tunnel.
const (
	GSONone GSO = iota // one packet
	GSOTCP4
	GSOTCP6
	GSOUDP // UDP_L4, either IP version

	// The same inside of a UDP tunnel (VXLAN, Geneve), whose headers are those of every
	// packet. The length field of the outer UDP header, which follows from the frame's,
	// holds where the inner packet begins instead, until the frame is written.
	GSOTunnelTCP4
	GSOTunnelTCP6
	GSOTunnelUDP
)

// Tunnelled reports whether the packets to be cut lie in a UDP tunnel.
func (g GSO) Tunnelled() bool { return g >= GSOTunnelTCP4 }

// Inner returns how the inner packet of a tunnelled frame is to be cut, and any other
// kind as it is.
func (g GSO) Inner() GSO {
	if g.Tunnelled() {
		return g - (GSOTunnelTCP4 - GSOTCP4)
	}
	return g
}

// Within returns how a frame is to be cut that has this one in a UDP tunnel.
func (g GSO) Within() GSO {
	if g == GSONone || g.Tunnelled() {
		return g
	}
	return g + (GSOTunnelTCP4 - GSOTCP4)
}

// Facts travel with a frame: all that a receiver may believe about it. The
// virtio header is rebuilt from them and from the inner headers, never copied.
type Facts struct {
	GSO     GSO
	GSOSize uint16 // payload bytes per segment; 0 when GSO is GSONone
	CSum    bool   // the L4 checksum field holds the pseudo-header sum only
	Ordered bool   // order within the flow is to be restored
}

// Frame is one inner packet or super-frame.
type Frame struct {
	Data     []byte // the inner IP packet, from its first header byte on
	Facts    Facts
	Flow     uint32        // hash of the inner flow key; where it arrives what the peer tells of that, the same for all of a flow
	TCP      bool          // inner protocol is TCP (how long a loss is worth repairing)
	Enqueued mono.Time     // when it entered the ingress queue
	Held     time.Duration // how long it waited for those before it, at the receiver

	// Buf is the whole buffer in which Data lies, when that has room before it
	// for a header of the TUN device; otherwise nil. The device owns its layout.
	Buf []byte

	refs    atomic.Int32
	filling atomic.Int32 // goroutines that copy into Data
	free    func(*Frame)
}

// New wraps data as a frame with one reference. free is called with the frame
// when the last reference is dropped; it may be nil.
func New(data []byte, free func(*Frame)) *Frame {
	f := &Frame{Data: data, free: free}
	f.refs.Store(1)
	return f
}

// Reset makes a pooled frame ready for use again with one reference. Buf stays.
func (f *Frame) Reset(data []byte) {
	if f.refs.Load() != 0 {
		panic("frame: reset of a frame that is still referenced")
	}
	free, buf := f.free, f.Buf
	*f = Frame{Data: data, Buf: buf, free: free}
	f.refs.Store(1)
}

// Retain adds a reference.
func (f *Frame) Retain() { f.refs.Add(1) }

// Fill implements srd.Filling: somebody copies into Data, and keeps the frame meanwhile.
func (f *Frame) Fill() {
	f.Retain()
	f.filling.Add(1)
}

// Filled ends Fill.
func (f *Frame) Filled() {
	f.filling.Add(-1)
	f.Release()
}

// Settled reports whether nobody copies into Data. Whoever has to do with its bytes asks
// first; that nobody begins anew is the caller's to know.
func (f *Frame) Settled() bool { return f.filling.Load() == 0 }

// Done implements srd.Owner. What became of a part of it is the inner protocols' to find out.
func (f *Frame) Done(srd.Status) { f.Release() }

// Release drops a reference.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n < 0:
		panic("frame: released more often than retained")
	case n == 0 && f.free != nil:
		f.free(f)
	}
}
