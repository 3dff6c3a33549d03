package daemon

import (
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/tundev"
)

// readsTunnelled is the feature bit in the handshake by which a daemon announces that it can read
// super-frames of UDP tunnels.
const readsTunnelled = 1

// pieces are the packets of a super-frame that the peer cannot read as a whole, in order. There are
// at most packet.MaxSegments pieces, or as many as the kernel put into the super-frame.
type pieces struct {
	left []*frame.Frame
	cuts uint64 // number of super-frames that were cut into packets
}

func (p *pieces) empty() bool { return len(p.left) == 0 }

// cut divides a super-frame into its packets. When cut is called, no packets of the previous
// super-frame may be left.
func (p *pieces) cut(pool *tundev.Pool, f *frame.Frame) {
	p.cuts++
	p.left = pool.Pieces(p.left[:0], f)
}

func (p *pieces) take() *frame.Frame {
	if len(p.left) == 0 {
		p.left = nil
		return nil
	}
	f := p.left[0]
	p.left[0] = nil
	p.left = p.left[1:]
	return f
}

func (p *pieces) drop() (dropped uint64) {
	for f := p.take(); f != nil; f = p.take() {
		f.Release()
		dropped++
	}
	return dropped
}
