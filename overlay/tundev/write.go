package tundev

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"golang.org/x/sys/unix"
)

// Write passes a frame to the kernel, which handles it as received on the device. The caller keeps
// the frame, and must be its only owner, because Write changes its checksum field, facts and
// headroom. Write does not copy a frame from Pool.
//
// Write drops a frame that fails packet.Validate, and counts it under the reason. Write also drops
// and counts a frame that the kernel refuses or for which it has no memory. For a dropped frame
// Write returns no error, because a peer can cause drops. Write returns os.ErrClosed after Close,
// ErrGone, or another error of write(2), such as EIO while the interface is down.
func (d *Device) Write(f *frame.Frame) error { return d.put(f, false) }

// WriteJoined is like Write, but for a super-frame that a merge.Merger joined.
func (d *Device) WriteJoined(f *frame.Frame) error { return d.put(f, true) }

func (d *Device) put(f *frame.Frame, joined bool) error {
	var in packet.Info
	reason := packet.Parse(f.Data, &in)
	if reason == packet.OK && f.Facts.GSO.Tunnelled() {
		return d.putTunnelled(f, &in, joined)
	}
	if reason == packet.OK && joined {
		reason = packet.ValidateJoined(f.Data, &in, &f.Facts)
	} else if reason == packet.OK {
		reason = packet.Validate(f.Data, &in, &f.Facts)
	}
	if reason != packet.OK {
		d.counter.writeDrops[reason].Add(1)
		return nil
	}
	if d.offloads.Off && f.Facts.CSum {
		return d.putComplete(f, &in)
	}
	if f.Facts.GSO != frame.GSONone {
		d.counter.writtenSuper.Add(1)
		if joined {
			d.counter.joined.Add(1)
		}
	}
	return d.send(f, &in, packet.BuildVnetHeader(f.Data, &in, f.Facts))
}

// putComplete writes the packets of a frame one by one, with complete checksums.
func (d *Device) putComplete(f *frame.Frame, in *packet.Info) error {
	n := packet.Count(in, f.Facts)
	if n == 1 {
		packet.Complete(f.Data, in)
		return d.send(f, in, packet.VnetHeader{})
	}
	return d.putPieces(f, in, n, func(i int) *frame.Frame {
		part := d.pool.Get(packet.SegmentLen(in, f.Facts, i))
		packet.Segment(part.Data, f.Data, in, f.Facts, i)
		packet.Complete(part.Data, in)
		return part
	})
}

// putPieces writes the n packets of a super-frame one by one, and counts the super-frame as cut.
func (d *Device) putPieces(f *frame.Frame, in *packet.Info, n int, piece func(i int) *frame.Frame) error {
	d.counter.cut.Add(1)
	for i := range n {
		part := piece(i)
		err := d.send(part, in, packet.VnetHeader{})
		part.Release()
		if err != nil {
			d.counter.writeErrors.Add(uint64(n - i - 1)) // the remaining packets
			return err
		}
	}
	return nil
}

// putTunnelled writes a super-frame of a UDP tunnel, whole if the kernel accepts it, otherwise
// packet by packet.
func (d *Device) putTunnelled(f *frame.Frame, in *packet.Info, joined bool) error {
	var t packet.Tunnel
	var reason packet.Reason
	if joined {
		reason = t.ValidateJoined(f.Data, in, &f.Facts)
	} else {
		reason = t.Validate(f.Data, in, &f.Facts)
	}
	if reason != packet.OK {
		d.counter.writeDrops[reason].Add(1)
		return nil
	}
	header, fits := t.VnetHeader(f.Data, in, f.Facts)
	if fits && d.offloads.Tunnels {
		d.counter.writtenSuper.Add(1)
		d.counter.writtenTunnel.Add(1)
		if joined {
			d.counter.joined.Add(1)
		}
		return d.send(f, in, header)
	}
	return d.putPieces(f, in, t.Count(f.Facts), func(i int) *frame.Frame { return d.pool.Piece(f, in, &t, i) })
}

// send writes a frame with its virtio header. The method send() first copies a frame without
// headroom.
func (d *Device) send(f *frame.Frame, in *packet.Info, header packet.VnetHeader) error {
	b := withHeader(f, d.header)
	if b == nil {
		moved := d.pool.Get(len(f.Data))
		defer moved.Release()
		copy(moved.Data, f.Data)
		b = withHeader(moved, d.header)
		d.counter.copied.Add(1)
	}
	header.Put(b[:d.header])
	// All packets of a flow are written to the same queue, because the kernel then uses this queue
	// for the other direction of the flow.
	fd := d.fd
	if n := uint32(len(d.queues)); n > 1 {
		fd = d.queues[packet.FlowHash(f.Data, in, d.opts.FlowKey)%n].fd
	}
	return d.write(fd, b)
}

func (d *Device) write(fd int, b []byte) error {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return os.ErrClosed
	}
	for {
		_, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch err {
		case 0:
			d.counter.wrote(len(b) - d.header)
			return nil
		case unix.EINTR:
			continue
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
			d.counter.writeBusy.Add(1)
			return nil
		case unix.EINVAL:
			d.counter.writeRefused.Add(1)
			return nil
		case unix.EBADFD:
			d.counter.writeErrors.Add(1)
			return ErrGone
		}
		d.counter.writeErrors.Add(1)
		return fmt.Errorf("write TUN device: %w", err)
	}
}
