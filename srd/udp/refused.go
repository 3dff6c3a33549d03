package udp

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusals adds up the kernel's 32-bit drop counters of the sockets.
type refusals struct {
	mu   sync.Mutex
	last map[int]uint32
	sum  uint64
}

// Refused returns how many packets the kernel has dropped at the sockets, because the filter
// refused them, a checksum was wrong, or a buffer was full. Call Refused at least once in 2^32
// dropped packets.
func (b *Bank) Refused() uint64 {
	r := &b.refused
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[int]uint32{}
	}
	for i := range b.socks {
		for _, fd := range b.socks[i].FDs() {
			n := drops(fd)
			r.sum += uint64(n - r.last[fd])
			r.last[fd] = n
		}
	}
	return r.sum
}

// drops reads SK_MEMINFO_DROPS. Kernels before 4.12 lack this value, and the result is 0.
func drops(fd int) uint32 {
	var info [unix.SK_MEMINFO_VARS]uint32
	n := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 || n < uint32(unsafe.Sizeof(info)) {
		return 0
	}
	return info[unix.SK_MEMINFO_DROPS]
}
