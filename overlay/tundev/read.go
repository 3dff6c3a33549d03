package tundev

import (
	"errors"
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"golang.org/x/sys/unix"
)

// ErrGone is returned when the interface was deleted by somebody else.
var ErrGone = errors.New("the TUN device is gone")

// reader is the state of ReadBatch.
type reader struct {
	spare *frame.Frame // big, for the next read; nil when it was handed out
	info  packet.Info  // of the frame read last
	polls [2]unix.PollFd

	// A frame that is handed out in pieces: see packet.Segments.
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

// ReadBatch waits until there is a frame, then reads until there is none left
// or dst is full, and returns how many it read, at least one. Each frame is
// parsed: Data, Facts, Flow and TCP are set, and the caller owns it. What cannot
// be carried is counted and passed over. Errors are os.ErrClosed after Close,
// ErrGone, or what read(2) and poll(2) say.
func (d *Device) ReadBatch(dst []*frame.Frame) (int, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return 0, os.ErrClosed
	}
	n := 0
	for len(dst) > 0 {
		for n < len(dst) {
			f, err := d.next()
			if err == unix.EAGAIN || err != nil && n > 0 {
				break // an error comes again with the next call
			}
			if err != nil {
				return 0, err
			}
			if f != nil {
				dst[n] = f
				n++
			}
		}
		if n > 0 {
			return n, nil
		}
		if err := d.wait(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// wait returns nil when there is something to read.
func (d *Device) wait() error {
	p := &d.reader.polls
	p[0] = unix.PollFd{Fd: int32(d.fd), Events: unix.POLLIN}
	p[1] = unix.PollFd{Fd: int32(d.wake), Events: unix.POLLIN}
	for {
		_, err := unix.Poll(p[:], -1)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("poll TUN device: %w", err)
		case p[1].Revents != 0:
			return os.ErrClosed
		case p[0].Revents&unix.POLLIN == 0:
			return ErrGone
		}
		return nil
	}
}

// next returns the next frame, nil when there was none worth keeping, or EAGAIN
// when there is nothing to read.
func (d *Device) next() (*frame.Frame, error) {
	r := &d.reader
	if r.split != nil {
		return d.nextSegment(), nil
	}
	if r.spare == nil {
		r.spare = d.pool.Get(MaxData)
	}
	buf := r.spare.Buf[vnetAt:]
	n, err := unix.Read(d.fd, buf)
	switch err {
	case nil:
		d.counter.read(n - packet.VnetHeaderLen)
		return d.accept(buf[:n]), nil
	case unix.EINTR:
		return nil, nil
	case unix.EAGAIN:
		return nil, err
	case unix.EBADFD:
		return nil, ErrGone
	}
	return nil, fmt.Errorf("read TUN device: %w", err)
}

// accept turns what was read into the spare frame into a frame to hand out.
func (d *Device) accept(b []byte) *frame.Frame {
	r := &d.reader
	f := r.spare
	if reason := d.describe(f, b); reason != packet.OK {
		d.counter.readDrops[reason].Add(1)
		return nil
	}
	if f.Facts.GSO != frame.GSONone {
		d.counter.readSuper.Add(1)
	}
	if n := packet.Segments(&r.info, f.Facts); n > 1 {
		d.counter.split.Add(1)
		r.split, r.splitNext, r.splitAll, r.spare = f, 0, n, nil
		return d.nextSegment()
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

// describe fills in f from the virtio header and the packet in b.
func (d *Device) describe(f *frame.Frame, b []byte) packet.Reason {
	in := &d.reader.info
	header, reason := packet.ReadVnetHeader(b)
	if reason != packet.OK {
		return reason
	}
	f.Data = b[packet.VnetHeaderLen:]
	if reason := packet.Parse(f.Data, d.opts.FlowSeed, in); reason != packet.OK {
		return reason
	}
	if in.TotalLen > MaxData {
		return packet.TooLong
	}
	f.TCP = in.Proto == packet.ProtoTCP
	f.Flow = in.FlowHash
	f.Facts.Ordered = in.Proto != packet.ProtoUDP || !d.opts.UnorderedUDP
	return header.Facts(f.Data, in, &f.Facts)
}

// nextSegment returns the next packet of the frame that is handed out in
// pieces.
func (d *Device) nextSegment() *frame.Frame {
	r := &d.reader
	whole := r.split
	part := d.pool.Get(packet.SegmentLen(&r.info, whole.Facts, r.splitNext))
	packet.Segment(part.Data, whole.Data, &r.info, whole.Facts, r.splitNext)
	part.Facts = frame.Facts{CSum: true, Ordered: whole.Facts.Ordered}
	part.Flow, part.TCP = whole.Flow, whole.TCP
	if r.splitNext++; r.splitNext == r.splitAll {
		whole.Release()
		r.split = nil
	}
	return part
}
