package tundev

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"golang.org/x/sys/unix"
)

// BenchmarkRead sends UDP packets into the device, a few at a time, and reads them. Most of the
// measured time is spent on sending.
func BenchmarkRead(b *testing.B) {
	const run = 16
	for _, size := range []int{64, 1400} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s := newSpace(b)
			d := s.open(b, 1, Options{TxQueueLen: 1000})
			to := netip.MustParseAddrPort("10.77.0.2:9")
			fd, addr, data := s.socket(b, to, unix.SOCK_DGRAM), sockaddr(to), make([]byte, size)
			batch := make([]*frame.Frame, run)
			b.SetBytes(run * int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for range run {
					must(b, unix.Sendto(fd, data, 0, addr))
				}
				for n := 0; n < run; {
					k, err := readBatch(d, batch)
					must(b, err)
					for _, f := range batch[:k] {
						f.Release()
					}
					n += k
				}
			}
		})
	}
}

// BenchmarkWrite writes UDP packets for a socket of the kernel, which drops them when it is full.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{64, 1400} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s := newSpace(b)
			d := s.open(b, 1, Options{})
			at := netip.MustParseAddrPort("10.77.0.1:9")
			must(b, unix.Bind(s.socket(b, at, unix.SOCK_DGRAM), sockaddr(at)))
			f := datagram(d.Pool(), size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				must(b, d.Write(f))
			}
			if n := d.Stats(); n.WriteDrops != (Stats{}).WriteDrops || n.WriteRefused > 0 {
				b.Errorf("%+v", n)
			}
		})
	}
}

// datagram returns a frame with a UDP packet from another host to port 9 of this one. The packet
// has `size` bytes with headers, and no UDP checksum.
func datagram(p *Pool, size int) *frame.Frame {
	f := p.Get(size)
	h := []byte{0x45, 0, byte(size >> 8), byte(size), 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1,
		0, 9, 0, 9, byte((size - 20) >> 8), byte(size - 20), 0, 0}
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(h[i])<<8 | uint32(h[i+1])
	}
	sum = ^(sum>>16 + sum&0xffff)
	h[10], h[11] = byte(sum>>8), byte(sum)
	clear(f.Data)
	copy(f.Data, h)
	return f
}
