package ep

import (
	"math/bits"
	"sync"
)

// Copies of long messages come from pools and go back. Made anew, they would take a fifth of a
// sender's time: the collector's work, and the page faults of fresh memory. A pool for each power
// of two keeps a short message from holding a long buffer. The collector empties pools that are
// not used.
const (
	leaseShortest = 14 // the logarithm of 16 KiB: shorter copies stay with their request
	leaseLongest  = 20 // 1 MiB: a longer copy is made seldom, and would keep much memory
)

var leases [leaseLongest - leaseShortest + 1]sync.Pool

// lease returns an empty buffer for size bytes, or nil if it is too long for the pools. Give it
// back by giveBack.
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
