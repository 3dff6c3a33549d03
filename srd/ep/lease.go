package ep

import (
	"math/bits"
	"sync"
)

// Copies of long messages come from pools and return to them. New allocations would take a fifth
// of a sender's time, for garbage collection and for page faults. A pool for each power of two
// keeps a short message from occupying a long buffer. The garbage collector empties unused pools.
const (
	leaseShortest = 14 // 16 KiB, as a logarithm: shorter copies stay with their request
	leaseLongest  = 20 // 1 MiB: longer copies are rare, and would occupy much memory
)

var leases [leaseLongest - leaseShortest + 1]sync.Pool

// lease returns an empty buffer for size bytes, or nil if size is too long for the pools. Return
// it with giveBack.
func lease(size int) *[]byte {
	i := leaseClass(size - immediateLen) // so that a power of two with immediate data fits
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

// giveBack ends a lease.
func giveBack(b *[]byte) {
	leases[leaseClass(cap(*b)-immediateLen)].Put(b)
}
