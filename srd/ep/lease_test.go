package ep

import "testing"

// A leased buffer has room for the requested size, and not for much more.
func TestLeaseFits(t *testing.T) {
	for _, size := range []int{keptMost + 1, 16 << 10, 16<<10 + 1, 16<<10 + immediateLen, 16<<10 + immediateLen + 1, 64<<10 + immediateLen, 1<<20 + immediateLen} {
		b := lease(size)
		if b == nil || len(*b) != 0 || cap(*b) < size || cap(*b) > 2*size+immediateLen {
			t.Fatalf("%d bytes: %v", size, b)
		}
		giveBack(b)
	}
	if b := lease(1<<20 + immediateLen + 1); b != nil {
		t.Errorf("more than a megabyte: %d bytes are kept", cap(*b))
	}
}

// A long message allocates no memory if others have completed before it.
func TestLongMessagesReuseMemory(t *testing.T) {
	data := make([]byte, 64<<10)
	most := testing.AllocsPerRun(100, func() {
		r := newRequest(nil, data, &SendOptions{HasImmediate: true})
		r.complete = true
		r.recycle()
	})
	if most >= 1 {
		t.Errorf("%v allocations for each message", most)
	}
}

// A short message after a long one does not keep the buffer of the long one, and the bytes of both
// are intact.
func TestShortMessageAfterALongOne(t *testing.T) {
	long := newRequest(nil, make([]byte, 100_000), &SendOptions{})
	short := newRequest(nil, []byte("short"), &SendOptions{})
	if cap(short.buf) > keptMost || short.leased != nil {
		t.Errorf("five bytes hold %d", cap(short.buf))
	}
	long.complete = true
	long.recycle()
	next := newRequest(nil, make([]byte, 100_000), &SendOptions{})
	if string(short.buf) != "short" || len(next.buf) != 100_000 {
		t.Errorf("%q, %d bytes", short.buf, len(next.buf))
	}
}
