package tundev

import (
	"fmt"
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

const (
	// Headroom is the space before Data, in bytes. It is the length of the longer virtio header,
	// rounded up so that Data is aligned.
	Headroom = 32

	// smallSize is the buffer size for one packet of Ethernet size, in bytes.
	smallSize = 2048

	// readSize is the buffer length after the virtio header in every read(2), in bytes. The kernel
	// silently truncates data that is longer than the buffer.
	readSize = 65536

	// bigSize is the size of a buffer for readSize bytes after the virtio header, in bytes. Go's
	// allocator uses whole pages of 8 KiB for such a buffer.
	bigSize = 72 << 10

	// MaxSmall is the largest number of data bytes in a small frame.
	MaxSmall = smallSize - Headroom
)

const (
	_ = uint(bigSize - Headroom - readSize)
	_ = uint(Headroom - packet.VnetTunnelHeaderLen)
)

// sizes are the buffer sizes of the pool, in bytes. A waiting frame occupies its whole buffer. To
// waste little memory, each size for super-frames is at most twice the previous one. The first size
// fits a TCP acknowledgement. The fourth size fits a jumbo frame, which has 9,000 to 9,216 bytes,
// depending on the vendor. All sizes are size classes of Go's allocator, so no buffer takes more
// memory than its size.
var sizes = [...]int{256, smallSize, 4 << 10, 10 << 10, 20 << 10, 40 << 10, bigSize}

// MaxData is the largest number of data bytes in a frame.
const MaxData = packet.MaxLen

// Pool allocates frames with headroom, in a few buffer sizes. The zero value of Pool is ready
// for use. Methods of Pool are safe for concurrent use. The garbage collector frees unused
// buffers, so the pool's memory follows the number of frames in use.
type Pool struct {
	classes [len(sizes)]sync.Pool
	once    sync.Once
	free    func(*frame.Frame)
}

// Get returns a frame with one reference and n bytes of undefined Data. Get panics if n is not
// between 0 and MaxData, so a caller must check an n that a peer sent.
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

// withHeader returns the bytes of f from its virtio header on, or nil if Buf has no headroom
// before Data. The parameter `header` is the length of the virtio header in bytes.
func withHeader(f *frame.Frame, header int) []byte {
	if len(f.Data) == 0 || len(f.Buf) < Headroom+len(f.Data) || &f.Buf[Headroom] != &f.Data[0] {
		return nil
	}
	return f.Buf[Headroom-header : Headroom+len(f.Data)]
}
