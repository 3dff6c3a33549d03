package ep

import (
	"math/bits"
	"sync"
)

// The buffers for copies of long messages are pooled. Without pools, allocation would take a
// fifth of a sender's time, for garbage collection and page faults. There is a pool for each
// power of two, so a short message does not occupy a long buffer. The garbage collector empties
// unused pools.
const (
	leaseShortest = 14 // logarithm of 16 KiB: the request owns the memory of shorter copies
	leaseLongest  = 20 // logarithm of 1 MiB: longer copies are rare, and would occupy much memory
)

var leases [leaseLongest - leaseShortest + 1]sync.Pool

// lease returns an empty buffer for `size` bytes, or nil if `size` is too long for the pools.
// The caller returns the buffer with giveBack.
func lease(size int) *[]byte {
	i := leaseClass(size - immediateLen) // a power of two with immediate data fits in the buffer
	if i >= len(leases) {
		return nil
	}
	if b, ok := leases[i].Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 1<<(leaseShortest+i)+immediateLen)
	return &b
}

func leaseClass(size int) int { return max(0, bits.Len(uint(max(0, size-1)))-leaseShortest) }

// giveBack returns a buffer to its pool.
func giveBack(b *[]byte) {
	leases[leaseClass(cap(*b)-immediateLen)].Put(b)
}
