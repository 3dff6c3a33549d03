// Package frame has the unit of data that the overlay carries: one inner IP packet, or one
// super-frame. A super-frame is a TCP or UDP segmentation-offload frame of up to 64 KiB. The
// Facts of a super-frame let the other end write it to the device.
//
// A frame has one owner at a time. Frames have reference counts, because a frame from the TUN
// device is also the retransmit buffer of each message cut from it. The last Release of a frame
// returns its buffer to the pool.
package frame

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// GSO is the kind of segmentation by which the kernel cuts a frame into packets.
type GSO uint8

// The following kinds of segmentation can cross the tunnel.
const (
	GSONone GSO = iota // one packet
	GSOTCP4
	GSOTCP6
	GSOUDP // UDP_L4, either IP version

	// The following kinds are the same segmentations inside a UDP tunnel (VXLAN, Geneve). Each
	// packet of a tunnelled frame gets a copy of the tunnel's headers. Until the frame is written,
	// the outer length field contains the offset of the inner packet, because the UDP length
	// follows from the frame's length.
	GSOTunnelTCP4
	GSOTunnelTCP6
	GSOTunnelUDP
)

// Tunnelled reports whether the packets of a frame are inside a UDP tunnel.
func (g GSO) Tunnelled() bool { return g >= GSOTunnelTCP4 }

// Inner returns the kind of the inner packet for a tunnelled kind, and returns any other kind
// unchanged.
func (g GSO) Inner() GSO {
	if g.Tunnelled() {
		return g - (GSOTunnelTCP4 - GSOTCP4)
	}
	return g
}

// Within returns the kind of a super-frame of kind g after encapsulation in a UDP tunnel.
func (g GSO) Within() GSO {
	if g == GSONone || g.Tunnelled() {
		return g
	}
	return g + (GSOTunnelTCP4 - GSOTCP4)
}

// Facts are the properties of a frame that are sent with it. The receiver uses no other
// information from the sender about the frame. The receiver rebuilds the virtio header from the
// facts and the inner headers; the header itself is never sent.
type Facts struct {
	GSO     GSO
	GSOSize uint16 // payload bytes per segment; 0 when GSO is GSONone
	CSum    bool   // the L4 checksum field holds the pseudo-header sum only
	Ordered bool   // the receiver must restore the order within the flow
}

// Frame is one inner packet or super-frame.
type Frame struct {
	Data     []byte // the inner IP packet, from its first header byte on
	Facts    Facts
	Flow     uint32        // hash of the inner flow key; at the receiver the flow slot, which the peer chose
	TCP      bool          // the inner protocol is TCP, so retransmission is worthwhile for longer
	Steady   bool          // belongs to a small and steady flow, so a copy is sent on a second uplink
	Enqueued mono.Time     // when the frame entered the ingress queue
	Held     time.Duration // at the receiver: how long the frame waited for earlier frames

	// Buf is the whole buffer around Data if the buffer has room for the TUN device's header;
	// otherwise nil.
	Buf []byte

	refs    atomic.Int32
	filling atomic.Int32 // number of goroutines that copy into Data
	free    func(*Frame)
}

// New returns a frame of data with one reference. The last Release calls the function free(),
// which may be nil.
func New(data []byte, free func(*Frame)) *Frame {
	f := &Frame{Data: data, free: free}
	f.refs.Store(1)
	return f
}

// Reset reuses a pooled frame for new data, with one reference. Reset does not change Buf.
func (f *Frame) Reset(data []byte) {
	if f.refs.Load() != 0 {
		panic("frame: reset of a frame that is still referenced")
	}
	free, buf := f.free, f.Buf
	*f = Frame{Data: data, Buf: buf, free: free}
	f.refs.Store(1)
}

// Retain adds a reference to the frame.
func (f *Frame) Retain() { f.refs.Add(1) }

// Fill implements srd.Filling. A goroutine calls it before it copies into Data, and then holds a
// reference until it calls Filled.
func (f *Frame) Fill() {
	f.Retain()
	f.filling.Add(1)
}

// Filled implements srd.Filling. The goroutine calls it after its copy, which releases its
// reference.
func (f *Frame) Filled() {
	f.filling.Add(-1)
	f.Release()
}

// Settled reports whether no goroutine is copying into Data. A caller must check Settled before
// it reads Data. The caller must ensure that no new copy begins.
func (f *Frame) Settled() bool { return f.filling.Load() == 0 }

// Done implements srd.Owner. Done ignores the status, because the inner protocols detect a loss
// themselves.
func (f *Frame) Done(srd.Status) { f.Release() }

// Release drops a reference, and the last one returns the buffer to its pool.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n < 0:
		panic("frame: released more often than retained")
	case n == 0 && f.free != nil:
		f.free(f)
	}
}
