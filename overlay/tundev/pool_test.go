package tundev

import (
	"slices"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

func TestPoolSizes(t *testing.T) {
	var p Pool
	for _, c := range []struct{ n, buf int }{
		{0, 256}, {1, 256}, {224, 256}, {225, smallSize}, {MaxSmall, smallSize}, {MaxSmall + 1, 4 << 10}, {5000, 10 << 10}, {9216, 10 << 10}, {10 << 10, 20 << 10}, {10_300, 20 << 10}, {62_000, bigSize}, {MaxData, bigSize},
	} {
		f := p.Get(c.n)
		if len(f.Data) != c.n || len(f.Buf) != c.buf {
			t.Errorf("%d: data %d buffer %d", c.n, len(f.Data), len(f.Buf))
		}
		if c.n > 0 {
			for _, header := range []int{10, 24} {
				b := withHeader(f, header)
				if len(b) != c.n+header || &b[header] != &f.Data[0] {
					t.Errorf("%d: no headroom of %d", c.n, header)
				}
			}
		}
		f.Retain()
		f.Release()
		f.Facts, f.Flow, f.TCP = frame.Facts{CSum: true}, 9, true
		f.Release()
		g := p.Get(c.n)
		if g.Flow != 0 || g.TCP || g.Facts != (frame.Facts{}) || len(g.Data) != c.n {
			t.Errorf("%d: a frame from the pool is not clean: %+v", c.n, g.Facts)
		}
	}
}

// The allocator uses exactly the size of each buffer.
func TestSizesAreThoseOfTheAllocator(t *testing.T) {
	for _, n := range sizes {
		if c := cap(slices.Grow([]byte(nil), n)); c != n {
			t.Errorf("the allocator gives %d bytes for %d", c, n)
		}
	}
}

func TestPoolRefusesNonsense(t *testing.T) {
	var p Pool
	for _, n := range []int{-1, MaxData + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a frame of %d bytes", n)
				}
			}()
			p.Get(n)
		}()
	}
}

func TestHeaderOnlyBeforeOwnData(t *testing.T) {
	var p Pool
	f := p.Get(100)
	f.Data = f.Data[:50]
	if b := withHeader(f, 10); len(b) != 60 {
		t.Errorf("shortened: %d bytes", len(b))
	}
	f.Data = f.Data[1:]
	if withHeader(f, 24) != nil {
		t.Error("header placed before data that begins elsewhere")
	}
	f.Data = make([]byte, 50)
	if withHeader(f, 24) != nil {
		t.Error("header placed before foreign data")
	}
	if withHeader(frame.New([]byte{1}, nil), 10) != nil {
		t.Error("header placed before a frame without buffer")
	}
}
