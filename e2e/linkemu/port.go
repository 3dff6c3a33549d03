package linkemu

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchFrames is the maximum number of frames in one system call.
const batchFrames = 64

// socketBytes is the size of the socket's receive buffer in bytes: 50 ms at 100 000 full frames
// per second. The kernel charges about 2.3 KB for each frame.
const socketBytes = 12 << 20

// virtioLen is the length of struct virtio_net_hdr in bytes. The kernel puts the virtio header in
// front of each received frame.
const virtioLen = 10

// needsChecksum has the value of VIRTIO_NET_HDR_F_NEEDS_CSUM.
const needsChecksum = 1

// mmsghdr is the struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// port is a packet socket on one network interface. One goroutine may receive while another
// goroutine sends.
type port struct {
	fd    int
	name  string
	rx    [batchFrames]mmsghdr
	rxIov [batchFrames]unix.Iovec
	rxBuf [batchFrames][virtioLen + maxFrame + 1]byte
	tx    [batchFrames]mmsghdr
	txIov [batchFrames][2]unix.Iovec
	// txHead is the empty virtio header in front of each sent frame.
	txHead [virtioLen]byte
}

// openPort opens a packet socket on an interface in the thread's namespace.
func openPort(name string) (*port, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("linkemu: packet socket: %w", err)
	}
	p := &port{fd: fd, name: name}
	if err := p.setUp(ifi.Index); err != nil {
		p.close()
		return nil, fmt.Errorf("linkemu: %s: %w", name, err)
	}
	return p, nil
}

func (p *port) setUp(ifindex int) error {
	for _, o := range []struct{ level, name, value int }{
		// The socket must not receive its own sent frames.
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		// Frames on a veth often have an incomplete checksum, and only the virtio header shows
		// it.
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBytes},
		{unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBytes},
	} {
		if err := unix.SetsockoptInt(p.fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("socket option %d: %w", o.name, err)
		}
	}
	for i := range batchFrames {
		p.rxIov[i].Base = &p.rxBuf[i][0]
		p.rxIov[i].SetLen(len(p.rxBuf[i]))
		p.rx[i].hdr.Iov, p.tx[i].hdr.Iov = &p.rxIov[i], &p.txIov[i][0]
		p.rx[i].hdr.SetIovlen(1)
		p.tx[i].hdr.SetIovlen(2)
		p.txIov[i][0].Base = &p.txHead[0]
		p.txIov[i][0].SetLen(virtioLen)
	}
	return unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: ifindex})
}

func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}

// receive calls take for each waiting frame, up to a batch, after completing its checksum. Each
// slice is valid until the next call. The result bad counts frames with an unusable virtio
// header.
func (p *port) receive(take func(frame []byte)) (n, bad int, err error) {
	r, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(p.fd), uintptr(unsafe.Pointer(&p.rx[0])), batchFrames, unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return 0, 0, nil
	}
	if errno != 0 {
		return 0, 0, errno
	}
	for i := range int(r) {
		b := p.rxBuf[i][:p.rx[i].n]
		if len(b) < virtioLen {
			bad++
			continue
		}
		if b[1] != 0 {
			// A frame with a gso_type is a super-frame, which exists only inside a machine. A
			// real cable carries only single packets.
			bad++
			continue
		}
		frame := b[virtioLen:]
		if b[0]&needsChecksum != 0 && len(frame) <= maxFrame {
			start, offset := binary.NativeEndian.Uint16(b[6:]), binary.NativeEndian.Uint16(b[8:])
			if !completeChecksum(frame, int(start), int(offset)) {
				bad++
				continue
			}
		}
		take(frame)
	}
	return int(r), bad, nil
}

// send sends at most a batch of frames, and returns the number that the kernel accepted.
func (p *port) send(frames [][]byte) (int, error) {
	for i, f := range frames {
		p.txIov[i][1].Base = &f[0]
		p.txIov[i][1].SetLen(len(f))
	}
	r, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(p.fd), uintptr(unsafe.Pointer(&p.tx[0])), uintptr(len(frames)), unix.MSG_DONTWAIT, 0, 0)
	runtime.KeepAlive(frames)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func (p *port) close() { _ = unix.Close(p.fd) }
