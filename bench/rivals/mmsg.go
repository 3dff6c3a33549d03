package rivals

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchMost is the largest number of datagrams in one system call. It is large enough for the burst
// of one tick at the highest rate.
const batchMost = 64

// mmsghdr is the kernel's struct mmsghdr, see recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// batch holds buffers for the datagrams of one socket. A batch must not be moved, because the
// kernel has pointers into it.
type batch struct {
	fd   int
	msgs [batchMost]mmsghdr
	iovs [batchMost]unix.Iovec
	// data has buffers with one byte more than a datagram of the blast, so that a longer datagram
	// can be detected.
	data [batchMost][blastBytes + 1]byte
}

// newBatch prepares sending and receiving of datagrams of `size` bytes.
func newBatch(fd, size int) *batch {
	b := &batch{fd: fd}
	for i := range b.msgs {
		b.iovs[i].Base = &b.data[i][0]
		b.iovs[i].SetLen(size)
		b.msgs[i].hdr.Iov = &b.iovs[i]
		b.msgs[i].hdr.SetIovlen(1)
	}
	return b
}

// number writes the sender's id and the sequence number into datagram i.
func (b *batch) number(i int, id, n uint64) {
	binary.BigEndian.PutUint64(b.data[i][:], id)
	binary.BigEndian.PutUint64(b.data[i][8:], n)
}

// read returns the sequence number of datagram i, and whether the datagram carries this id.
func (b *batch) read(i int, id uint64) (n uint64, ours bool) {
	ours = b.msgs[i].len == blastBytes && binary.BigEndian.Uint64(b.data[i][:]) == id
	return binary.BigEndian.Uint64(b.data[i][8:]), ours
}

// send sends the first n datagrams, and returns the number of sent datagrams.
func (b *batch) send(n int) (int, error) { return b.call(unix.SYS_SENDMMSG, n, 0) }

// receive waits for one datagram and also reads all others that have arrived.
func (b *batch) receive() (int, error) {
	return b.call(unix.SYS_RECVMMSG, batchMost, unix.MSG_WAITFORONE)
}

func (b *batch) call(number uintptr, n, flags int) (int, error) {
	// The kernel accesses only memory of b, which outlives the call.
	k, _, errno := unix.Syscall6(number, uintptr(b.fd), uintptr(unsafe.Pointer(&b.msgs[0])), uintptr(n), uintptr(flags), 0, 0)
	runtime.KeepAlive(b)
	if errno != 0 {
		return 0, errno
	}
	return int(k), nil
}
