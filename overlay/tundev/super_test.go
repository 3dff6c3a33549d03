//go:build !race

package tundev

import (
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
)

// stream sends n bytes from one socket to the other, and returns the number of allocations in the
// process meanwhile.
func stream(t *testing.T, from, to *net.TCPConn, n int) (allocations uint64) {
	t.Helper()
	out, in, sent := make([]byte, 1<<20), make([]byte, 1<<20), make(chan error, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		for left := n; left > 0; left -= len(out) {
			if _, err := from.Write(out); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for left := n; left > 0; left -= len(in) {
		if _, err := io.ReadFull(to, in); err != nil {
			t.Fatal(err)
		}
	}
	must(t, <-sent)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// Reading and writing super-frames allocates no memory for each. Only after a garbage collection
// may the pool allocate new frames. This file is not built with the race detector, for the reason
// in TestNoAllocations.
func TestSuperFramesTakeNoMemory(t *testing.T) {
	const run = 128 << 20
	w := newWire(t)
	client, server := dial(t, w.a, w.b, netip.MustParseAddrPort("10.77.0.2:80"), asItIs)
	stream(t, client, server, run)
	frames, super := w.frames.Load(), w.super.Load()
	n := stream(t, client, server, run)
	frames, super = w.frames.Load()-frames, w.super.Load()-super
	t.Logf("%d allocations, %d frames, %d of them super-frames", n, frames, super)
	if super < 500 {
		t.Fatal("too few super-frames to tell")
	}
	if n > uint64(super)/5 {
		t.Errorf("%d allocations for %d super-frames", n, super)
	}
}
