package order

import (
	"bytes"

	"github.com/srdtun/srdtun/overlay/frame"
)

// dirt is the byte that fills every frame of the pool, like the bytes of an earlier packet. No test
// sends this byte, so its delivery is a leak.
const dirt = 0

// smallest is the size of the smallest buffer in bytes.
const smallest = 2048

// pool returns frames that are filled with dirt, reuses them, and counts the frames that are not
// released. A second release of a frame panics.
type pool struct {
	free  []*frame.Frame
	out   int
	bytes int // bytes of the frames that are not released
	most  int // largest value of bytes so far
}

func newPool() *pool { return &pool{} }

func (p *pool) get(n int) *frame.Frame {
	p.out++
	p.bytes += n
	p.most = max(p.most, p.bytes)
	if last := len(p.free) - 1; last >= 0 && cap(p.free[last].Buf) >= n {
		f := p.free[last]
		p.free = p.free[:last]
		f.Reset(f.Buf[:n])
		clear(f.Data)
		return f
	}
	buf := make([]byte, max(n, smallest))
	f := frame.New(buf[:n], p.put)
	f.Buf = buf
	return f
}

func (p *pool) put(f *frame.Frame) {
	p.out--
	p.bytes -= len(f.Data)
	p.free = append(p.free, f)
}

// buffers returns the least memory that the buffers of the unreleased frames can take, in bytes.
func (p *pool) buffers() int { return p.out * smallest }

// clean reports whether f contains only bytes that were sent.
func clean(f *frame.Frame) bool { return !bytes.Contains(f.Data, []byte{dirt}) }

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (p *pool) wantAllBack(t fataler) {
	t.Helper()
	if p.out != 0 || p.bytes != 0 {
		t.Fatalf("%d frames with %d bytes were not released", p.out, p.bytes)
	}
}
