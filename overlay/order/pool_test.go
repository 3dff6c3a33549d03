package order

import (
	"bytes"

	"github.com/srdtun/srdtun/overlay/frame"
)

// dirt fills every frame of the pool, like the bytes of an earlier packet. No test
// sends it, so a delivered byte of it is a leak.
const dirt = 0

// smallest is the size of the smallest buffer.
const smallest = 2048

// pool gives frames full of dirt, uses them again, and knows how many are out.
// A frame released twice panics by itself.
type pool struct {
	free  []*frame.Frame
	out   int
	bytes int // of the frames that are out
	most  int // that bytes ever was
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

// buffers returns the least bytes of the buffers that are out.
func (p *pool) buffers() int { return p.out * smallest }

// clean reports whether f holds only bytes that were sent.
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
