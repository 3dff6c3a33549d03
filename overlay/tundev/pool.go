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

	// smallSize is the buffer size for one packet of Ethernet size.
	smallSize = 2048

	// readSize is the number of bytes after the virtio header that every read(2) offers.
	// The kernel silently truncates longer data.
	readSize = 65536

	// bigSize is the size that Go's allocator uses for readSize: whole pages of 8 KiB.
	bigSize = 72 << 10

	// MaxSmall is the largest number of data bytes in a small frame.
	MaxSmall = smallSize - Headroom
)

const (
	_ = uint(bigSize - Headroom - readSize)
	_ = uint(Headroom - packet.VnetTunnelHeaderLen)
)

// sizes are the buffer sizes. A waiting frame occupies its whole buffer, so each size for
// super-frames is at most twice the one before. The first size fits a TCP acknowledgement.
// The fourth fits a jumbo frame, which has 9,000 to 9,216 bytes by vendor. All are size
// classes of Go's allocator, so no buffer takes more memory than its size.
var sizes = [...]int{256, smallSize, 4 << 10, 10 << 10, 20 << 10, 40 << 10, bigSize}

// MaxData is the largest number of data bytes in a frame.
const MaxData = packet.MaxLen

// Pool provides frames with headroom, in a few sizes. The zero value is ready. It is safe
// for concurrent use. The garbage collector frees unused buffers, so the pool's memory
// follows the number of frames in use.
type Pool struct {
	classes [len(sizes)]sync.Pool
	once    sync.Once
	free    func(*frame.Frame)
}

// Get returns a frame with one reference and n bytes of undefined Data. It panics
// unless n is between 0 and MaxData, so a caller checks an n that a peer sent.
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

// classOf returns the index of the smallest size that holds n bytes.
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

// withHeader returns the bytes of f from its virtio header on, or nil if Data has no
// headroom in Buf. The virtio header has header bytes.
func withHeader(f *frame.Frame, header int) []byte {
	if len(f.Data) == 0 || len(f.Buf) < Headroom+len(f.Data) || &f.Buf[Headroom] != &f.Data[0] {
		return nil
	}
	return f.Buf[Headroom-header : Headroom+len(f.Data)]
}
