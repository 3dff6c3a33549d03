package tundev

import (
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/packet"
)

// Stats has the device's counters since Open. The counters count frames, and bytes without the
// virtio header. A super-frame counts as one frame in Stats.
type Stats struct {
	Read, ReadBytes       uint64 // all frames from the kernel
	ReadSuper             uint64 // super-frames among them
	ReadTunnel            uint64 // super-frames among these that are in a UDP tunnel
	ReadSingles           uint64 // TCP packets that could have shared a super-frame with the previous packet
	ReadAccECN            uint64 // packets among these with AccECN's flag
	Split                 uint64 // super-frames cut into packets because no peer would accept them
	Written, WrittenBytes uint64
	WrittenSuper          uint64
	WrittenJoined         uint64 // super-frames among these that were joined here
	WrittenTunnel         uint64 // super-frames among these that are in a UDP tunnel
	Cut                   uint64 // super-frames cut into packets because the kernel does not accept them
	Copied                uint64 // copied before the write, because they lacked headroom
	WriteBusy             uint64 // dropped because the kernel had no memory
	WriteRefused          uint64 // dropped because the kernel found the header invalid
	WriteErrors           uint64

	// ReadDrops and WriteDrops count frames by packet.Reason.
	ReadDrops, WriteDrops [packet.NumReasons]uint64
}

type counters struct {
	readFrames, readBytes, readSuper, readTunnel, split atomic.Uint64
	readSingles, readAccECN, writtenTunnel, cut         atomic.Uint64
	written, writtenBytes, writtenSuper, joined, copied atomic.Uint64
	writeBusy, writeRefused, writeErrors                atomic.Uint64
	readDrops, writeDrops                               [packet.NumReasons]atomic.Uint64
}

func (c *counters) read(n int) {
	c.readFrames.Add(1)
	c.readBytes.Add(uint64(max(n, 0)))
}

func (c *counters) wrote(n int) {
	c.written.Add(1)
	c.writtenBytes.Add(uint64(n))
}

// Stats returns the device's counters. Each counter was exact at some moment during the call,
// but the moments may differ.
func (d *Device) Stats() Stats {
	c := &d.counter
	s := Stats{
		Read: c.readFrames.Load(), ReadBytes: c.readBytes.Load(), ReadSuper: c.readSuper.Load(), ReadTunnel: c.readTunnel.Load(),
		ReadSingles: c.readSingles.Load(), ReadAccECN: c.readAccECN.Load(), Split: c.split.Load(),
		Written: c.written.Load(), WrittenBytes: c.writtenBytes.Load(), WrittenSuper: c.writtenSuper.Load(),
		WrittenJoined: c.joined.Load(), WrittenTunnel: c.writtenTunnel.Load(), Cut: c.cut.Load(),
		Copied: c.copied.Load(), WriteBusy: c.writeBusy.Load(), WriteRefused: c.writeRefused.Load(), WriteErrors: c.writeErrors.Load(),
	}
	for r := range packet.NumReasons {
		s.ReadDrops[r] = c.readDrops[r].Load()
		s.WriteDrops[r] = c.writeDrops[r].Load()
	}
	return s
}
