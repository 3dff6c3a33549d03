package tundev

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/packet"
	"golang.org/x/sys/unix"
)

// merger returns a Merger that writes to d.
func merger(t *testing.T, d *Device) *merge.Merger {
	return merge.New(merge.Config{UDP: d.Offloads().USO, Tunnels: d.Offloads().Tunnels, Alloc: d.Pool().Get, Write: func(f *frame.Frame, what merge.Outcome) {
		defer f.Release()
		put := d.Write
		if what == merge.Joined {
			put = d.WriteJoined
		}
		if err := put(f); err != nil && err != os.ErrClosed {
			t.Errorf("write: %v", err)
		}
	}})
}

// cut calls take() with each packet of a frame, as if the packets had arrived one by one.
func cut(p *Pool, f *frame.Frame, take func(*frame.Frame)) {
	if f.Facts.GSO == frame.GSONone {
		take(f)
		return
	}
	defer f.Release()
	var in packet.Info
	packet.Parse(f.Data, &in)
	payload, size := in.Payload(), int(f.Facts.GSOSize)
	for i := 0; i*size < payload; i++ {
		s := p.Get(packet.SegmentLen(&in, f.Facts, i))
		packet.Segment(s.Data, f.Data, &in, f.Facts, i)
		s.Facts = frame.Facts{CSum: true, Ordered: f.Facts.Ordered}
		take(s)
	}
}

// An ordinary socket receives joined datagrams one by one.
func TestJoinedUDP(t *testing.T) {
	const count = 40
	for _, text := range []string{"10.77.0.2:5003", "[fd77::2]:5003"} {
		for _, size := range []int{64, 1400} {
			t.Run(fmt.Sprintf("%s/size=%d", text, size), func(t *testing.T) {
				at := netip.MustParseAddrPort(text)
				a, b := newSpace(t), newSpace(t)
				from, to := a.open(t, 1, Options{}), b.open(t, 2, Options{})
				out, in := a.socket(t, at, unix.SOCK_DGRAM), b.socket(t, at, unix.SOCK_DGRAM)
				must(t, unix.Bind(in, sockaddr(at)))
				data := make([][]byte, count)
				for i := range data {
					data[i] = bytes.Repeat([]byte{byte(i)}, size)
					if i == count-1 {
						data[i] = data[i][:size/2-1] // a shorter datagram of an odd length
					}
					must(t, unix.Sendto(out, data[i], 0, sockaddr(at)))
				}
				carry(t, from, to, count)
				buf := make([]byte, 2*size)
				for i, want := range data {
					n, _, err := unix.Recvfrom(in, buf, 0)
					if err != nil || !bytes.Equal(buf[:n], want) {
						t.Fatalf("datagram %d: %d bytes, the first %d, %v", i, n, buf[0], err)
					}
				}
				if n, _, err := unix.Recvfrom(in, buf, unix.MSG_DONTWAIT); err != unix.EAGAIN {
					t.Errorf("one more of %d bytes: %v", n, err)
				}
				s := to.Stats()
				if s.WriteRefused+s.WriteErrors+s.WriteBusy+s.Copied != 0 || s.WriteDrops != (Stats{}).WriteDrops {
					t.Errorf("%+v", s)
				}
				if to.Offloads().USO && s.WrittenJoined != 1 {
					t.Errorf("%d super-frames were joined of %d datagrams", s.WrittenJoined, count)
				}
			})
		}
	}
}

// carry reads frames from one device until `udp` UDP packets were among them, and joins them in one
// round for the other device. The kernel's own packets on a new interface are copied too.
func carry(t *testing.T, from, to *Device, udp int) {
	t.Helper()
	m, batch := merger(t, to), make([]*frame.Frame, 128)
	for udp > 0 {
		n, err := readBatch(from, batch)
		must(t, err)
		for _, f := range batch[:n] {
			cut(from.Pool(), f, func(f *frame.Frame) {
				var in packet.Info
				if packet.Parse(f.Data, &in) == packet.OK && in.Proto == packet.ProtoUDP {
					udp--
				}
				m.Add(f)
			})
		}
	}
	m.Flush()
}

// A TCP connection carries its data unchanged although its super-frames are cut and joined on the
// way.
func TestJoinedTCP(t *testing.T) {
	for _, at := range []string{"10.77.0.2:5004", "[fd77::2]:5004"} {
		w := &wire{a: newSpace(t), b: newSpace(t)}
		w.devA, w.devB = w.a.open(t, 1, Options{}), w.b.open(t, 2, Options{})
		m := merger(t, w.devB)
		pumpAll(t, w.devA, func(frames []*frame.Frame) {
			for _, f := range frames {
				cut(w.devA.Pool(), f, m.Add)
			}
			m.Flush()
		})
		pump(t, w.devB, w.devA, func(*frame.Frame) {})
		w.transfer(t, at, 16<<20, asItIs)
		w.clean(t)
		if s := w.devB.Stats(); s.WrittenJoined == 0 || s.WrittenJoined != s.WrittenSuper || s.WrittenBytes < 16<<20 {
			t.Errorf("%s: %+v", at, s)
		}
	}
}

// The packets of a TCP connection in VXLAN arrive one by one, as from an older kernel. They are
// joined to super-frames for this kernel, with and without outer checksums.
func TestJoinedTunnels(t *testing.T) {
	for i := range 4 {
		v6, sum := i&1 != 0, i&2 != 0
		w := &wire{a: newSpace(t), b: newSpace(t)}
		w.devA, w.devB = w.a.open(t, 1, Options{}), w.b.open(t, 2, Options{})
		m := merger(t, w.devB)
		pumpAll(t, w.devA, func(frames []*frame.Frame) {
			for _, f := range frames {
				for _, p := range w.devA.Pool().Pieces(nil, f) {
					m.Add(p)
				}
			}
			m.Flush()
		})
		pump(t, w.devB, w.devA, func(*frame.Frame) {})
		w.a.vxlan(t, 1, v6, sum, 4789)
		w.b.vxlan(t, 2, v6, sum, 4789)
		w.transfer(t, "10.88.0.2:5001", 16<<20, asItIs)
		w.clean(t)
		s := w.devB.Stats()
		if s.WrittenTunnel == 0 || s.WrittenTunnel != s.WrittenJoined || 2*s.WrittenTunnel < s.Written || s.Cut != 0 {
			t.Errorf("v6 %v, checksum %v: %+v", v6, sum, s)
		}
	}
}
