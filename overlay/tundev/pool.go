package tundev

import (
	"fmt"
	"sync"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

const (
	// Headroom is the space before Data, in bytes: the virtio header, rounded
	// up so that Data is aligned.
	Headroom = 16

	vnetAt = Headroom - packet.VnetHeaderLen

	// smallSize is the buffer of a frame that holds no more than one packet
	// of Ethernet size.
	smallSize = 2048

	// middleSize is the buffer of a frame that holds one packet of a 9,000-byte
	// network (jumbo frames: 9,000 to 9,216 bytes by vendor), or a short
	// super-frame. In big buffers such packets would take seven times the memory.
	middleSize = 10 << 10

	// readSize is what every read(2) offers: the virtio header and 65,536
	// bytes. The kernel cuts off silently what does not fit.
	readSize = packet.VnetHeaderLen + 65536
	bigSize  = vnetAt + readSize

	// MaxSmall is the most data bytes in a small frame.
	MaxSmall = smallSize - Headroom

	// MaxMiddle is the most data bytes in a frame of the middle size.
	MaxMiddle = middleSize - Headroom
)

// MaxData is the most data bytes that a frame can have.
const MaxData = packet.MaxLen

// Pool gives frames with headroom, in three sizes. The zero value is ready. It
// is safe for concurrent use. It keeps what the garbage collector leaves it, so
// its memory follows the number of frames in use.
type Pool struct {
	small, middle, big sync.Pool
	once               sync.Once
	free               func(*frame.Frame)
}

// Get returns a frame with one reference, whose Data has n bytes of undefined
// content. n is between 0 and MaxData; whoever takes it from a peer checks it
// first, since other values panic.
func (p *Pool) Get(n int) *frame.Frame {
	if n < 0 || n > MaxData {
		panic(fmt.Sprintf("tundev: a frame of %d bytes", n))
	}
	switch {
	case n <= MaxSmall:
		return p.get(&p.small, smallSize, n)
	case n <= MaxMiddle:
		return p.get(&p.middle, middleSize, n)
	}
	return p.get(&p.big, bigSize, n)
}

func (p *Pool) get(class *sync.Pool, size, n int) *frame.Frame {
	if f, ok := class.Get().(*frame.Frame); ok {
		f.Reset(f.Buf[Headroom : Headroom+n])
		return f
	}
	p.once.Do(func() { p.free = p.put })
	buf := make([]byte, size)
	f := frame.New(buf[Headroom:Headroom+n], p.free)
	f.Buf = buf
	return f
}

func (p *Pool) put(f *frame.Frame) {
	f.Data = nil
	switch len(f.Buf) {
	case smallSize:
		p.small.Put(f)
	case middleSize:
		p.middle.Put(f)
	default:
		p.big.Put(f)
	}
}

// withHeader returns the bytes of f from its virtio header on, or nil when Data
// does not lie behind headroom in Buf.
func withHeader(f *frame.Frame) []byte {
	if len(f.Data) == 0 || len(f.Buf) < Headroom+len(f.Data) || &f.Buf[Headroom] != &f.Data[0] {
		return nil
	}
	return f.Buf[vnetAt : Headroom+len(f.Data)]
}
