package tundev

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"golang.org/x/sys/unix"
)

// ErrGone means that another program has deleted the interface.
var ErrGone = errors.New("the TUN device is gone")

// reader is the state of ReadBatch between calls.
type reader struct {
	spare *frame.Frame  // a frame with a big buffer for the next read; nil after it was returned
	info  packet.Info   // of the last frame
	inner packet.Tunnel // of the last frame, if it is a tunnelled super-frame

	singles packet.Singles

	// The following fields describe a frame that is being returned packet by packet (see
	// packet.Segments).
	split     *frame.Frame
	splitNext int
	splitAll  int
}

func (r *reader) release() {
	for _, f := range []*frame.Frame{r.spare, r.split} {
		if f != nil {
			f.Release()
		}
	}
	r.spare, r.split = nil, nil
}

// next returns the next frame of the queue, nil if the frame was dropped, or EAGAIN if the queue
// is empty.
func (q *Queue) next() (*frame.Frame, error) {
	d, r := q.dev, &q.reader
	if r.split != nil {
		return q.nextSegment(), nil
	}
	if r.spare == nil {
		r.spare = d.pool.Get(MaxData)
	}
	buf := r.spare.Buf[Headroom-d.header : Headroom+readSize]
	n, _, err := unix.RawSyscall(unix.SYS_READ, uintptr(q.fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	switch err {
	case 0:
		d.counter.read(int(n) - d.header)
		return q.accept(buf[:n]), nil
	case unix.EINTR:
		return nil, nil
	case unix.EAGAIN:
		r.singles.Reset() // the next packet had not reached the empty queue
		return nil, err
	case unix.EBADFD:
		return nil, ErrGone
	}
	return nil, fmt.Errorf("read TUN device: %w", err)
}

// accept makes a frame from the bytes that were read into the spare frame.
func (q *Queue) accept(b []byte) *frame.Frame {
	d, r := q.dev, &q.reader
	f := r.spare
	if reason := q.describe(f, b); reason != packet.OK {
		d.counter.readDrops[reason].Add(1)
		return nil
	}
	if f.Facts.GSO != frame.GSONone {
		d.counter.readSuper.Add(1)
		r.singles.Reset()
	} else if f.TCP {
		q.countSingle(f)
	}
	if f.Facts.GSO.Tunnelled() {
		d.counter.readTunnel.Add(1)
	}
	if n := r.pieces(f.Facts); n > 1 {
		d.counter.split.Add(1)
		r.split, r.splitNext, r.splitAll, r.spare = f, 0, n, nil
		return q.nextSegment()
	}
	if len(f.Data) <= MaxSmall {
		small := d.pool.Get(len(f.Data))
		copy(small.Data, f.Data)
		small.Facts, small.Flow, small.TCP = f.Facts, f.Flow, f.TCP
		return small
	}
	r.spare = nil
	return f
}

// countSingle counts a TCP packet that the kernel could have passed together with the previous one.
func (q *Queue) countSingle(f *frame.Frame) {
	d, r := q.dev, &q.reader
	continues, accECN := r.singles.Next(f.Data, &r.info, f.Flow)
	if continues {
		d.counter.readSingles.Add(1)
		if accECN {
			d.counter.readAccECN.Add(1)
		}
	}
}

// describe sets the fields of frame f from the virtio header and the packet in b.
func (q *Queue) describe(f *frame.Frame, b []byte) packet.Reason {
	d, in := q.dev, &q.reader.info
	if len(b) < d.header {
		return packet.Truncated
	}
	header, reason := packet.ReadVnetHeader(b[:d.header])
	if reason != packet.OK {
		return reason
	}
	f.Data = b[d.header:]
	if reason := packet.Parse(f.Data, in); reason != packet.OK {
		return reason
	}
	if in.TotalLen > MaxData {
		return packet.TooLong
	}
	var proto uint8
	f.Flow, proto = packet.FlowOf(f.Data, in, d.opts.FlowKey)
	f.TCP = proto == packet.ProtoTCP
	f.Facts.Ordered = proto != packet.ProtoUDP || !d.opts.UnorderedUDP
	if reason := header.Facts(f.Data, in, &f.Facts); reason != packet.OK || !f.Facts.GSO.Tunnelled() {
		return reason
	}
	if f.Facts.GSO != frame.GSOTunnelUDP {
		f.TCP, f.Facts.Ordered = true, true
	}
	return q.reader.inner.Describe(f.Data, in, &f.Facts)
}

// pieces returns the number of packets into which the last read frame must be cut, or 1 if it is
// carried whole.
func (r *reader) pieces(facts frame.Facts) int {
	if !facts.GSO.Tunnelled() {
		return packet.Segments(&r.info, facts)
	}
	if r.inner.Carried(facts) {
		return 1
	}
	return r.inner.Count(facts)
}

func (q *Queue) nextSegment() *frame.Frame {
	d, r := q.dev, &q.reader
	whole := r.split
	var part *frame.Frame
	if whole.Facts.GSO.Tunnelled() {
		part = d.pool.Piece(whole, &r.info, &r.inner, r.splitNext)
	} else {
		part = d.pool.Get(packet.SegmentLen(&r.info, whole.Facts, r.splitNext))
		packet.Segment(part.Data, whole.Data, &r.info, whole.Facts, r.splitNext)
		part.Facts = frame.Facts{CSum: true, Ordered: whole.Facts.Ordered}
		part.Flow, part.TCP = whole.Flow, whole.TCP
	}
	if r.splitNext++; r.splitNext == r.splitAll {
		whole.Release()
		r.split = nil
	}
	return part
}
