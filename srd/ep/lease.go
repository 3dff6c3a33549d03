package ep

import (
	"math/bits"
	"sync"
)

// Copies of long messages come from pools and return to them. Without pools, allocation would
// take a fifth of a sender's time, for garbage collection and page faults. Each power of two has
// a pool, so a short message does not occupy a long buffer. The garbage collector empties unused
// pools.
const (
	leaseShortest = 14 // 16 KiB, as a logarithm: shorter copies stay with their request
	leaseLongest  = 20 // 1 MiB: longer copies are rare, and would occupy much memory
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
