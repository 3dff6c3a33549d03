package tundev

import (
	"fmt"
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

const (
	// Headroom is the space before Data, in bytes: the longer virtio header,
	// rounded up so that Data is aligned.
	Headroom = 32

	// smallSize is the buffer of a frame that holds no more than one packet
	// of Ethernet size.
	smallSize = 2048

	// readSize is what every read(2) offers beside the virtio header, in bytes.
	// The kernel cuts off silently what does not fit.
	readSize = 65536

	// bigSize is what Go's allocator gives for that: whole pages of 8 KiB.
	bigSize = 72 << 10

	// MaxSmall is the most data bytes in a small frame.
	MaxSmall = smallSize - Headroom
)

const (
	_ = uint(bigSize - Headroom - readSize)
	_ = uint(Headroom - packet.VnetTunnelHeaderLen)
)

// sizes are those of buffers. A frame that waits takes its whole buffer, so those for
// super-frames are no more than twice one another. The first is for an acknowledgement of
// TCP's, the fourth for a packet of a 9,000-byte network (jumbo frames: 9,000 to 9,216
// bytes by vendor). All are size classes of Go's allocator, so none takes more than it says.
var sizes = [...]int{256, smallSize, 4 << 10, 10 << 10, 20 << 10, 40 << 10, bigSize}

// MaxData is the most data bytes that a frame can have.
const MaxData = packet.MaxLen

// Pool gives frames with headroom, in a few sizes. The zero value is ready. It
// is safe for concurrent use. It keeps what the garbage collector leaves it, so
// its memory follows the number of frames in use.
type Pool struct {
	classes [len(sizes)]sync.Pool
	once    sync.Once
	free    func(*frame.Frame)
}

// Get returns a frame with one reference, whose Data has n bytes of undefined
// content. n is between 0 and MaxData; whoever takes it from a peer checks it
// first, since other values panic.
func (p *Pool) Get(n int) *frame.Frame {
	if n < 0 || n > MaxData {
		panic(fmt.Sprintf("tundev: a frame of %d bytes", n))
	}
	class := classOf(Headroom + n)
	if f, ok := p.classes[class].Get().(*frame.Frame); ok {
		f.Reset(f.Buf[Headroom : Headroom+n])
		return f
	}
	p.once.Do(func() { p.free = p.put })
	buf := make([]byte, sizes[class])
	f := frame.New(buf[Headroom:Headroom+n], p.free)
	f.Buf = buf
	return f
}

// classOf returns the smallest size, by its place in sizes, that holds n bytes.
func classOf(n int) int {
	class := 0
	for sizes[class] < n {
		class++
	}
	return class
}

func (p *Pool) put(f *frame.Frame) {
	f.Data = nil
	p.classes[classOf(len(f.Buf))].Put(f)
}

// withHeader returns the bytes of f from its virtio header on, which has header bytes, or
// nil when Data does not lie behind headroom in Buf.
func withHeader(f *frame.Frame, header int) []byte {
	if len(f.Data) == 0 || len(f.Buf) < Headroom+len(f.Data) || &f.Buf[Headroom] != &f.Data[0] {
		return nil
	}
	return f.Buf[Headroom-header : Headroom+len(f.Data)]
}
