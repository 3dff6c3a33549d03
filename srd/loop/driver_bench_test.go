//go:build !race

package loop

import (
	"fmt"
	"testing"
)

// BenchmarkDriver measures the whole way of one peer's messages between two drivers on the
// loopback device, with one and with two threads at each end. With -cpu 1,2 it shows the
// gain from a second processor: either the two ends share one processor or have one each,
// or both threads of the busier end run at the same time.
func BenchmarkDriver(b *testing.B) {
	const size, warm = 1300, 50_000
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", workers), func(b *testing.B) {
			x, y := newHosts(b, workers)
			for _, h := range []*host{x, y} {
				h.peer.Lock()
				h.peer.app = &frugal{data: make([]byte, size), done: make(chan struct{}, 1)}
				h.peer.Unlock()
			}
			carry(b, x, y, warm)
			b.SetBytes(size)
			b.ReportAllocs()
			b.ResetTimer()
			carry(b, x, y, b.N)
		})
	}
}
