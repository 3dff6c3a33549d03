package tundev

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/packet/packettest"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// vxlan creates a VXLAN device in s with the address 10.88.0.host/24. It runs between the addresses
// that open() set, on the given port. It has no IPv6 address, because the kernel would announce one
// in packets of equal size. These would be joined, and disturb the test's counts.
func (s *space) vxlan(t *testing.T, host byte, v6, sum bool, port int) {
	t.Helper()
	at := func(n byte) net.IP {
		if v6 {
			return net.ParseIP(fmt.Sprintf("fd77::%d", n))
		}
		return net.IPv4(10, 77, 0, n)
	}
	s.Must(t, func() error {
		link := &netlink.Vxlan{
			LinkAttrs: netlink.LinkAttrs{Name: "vx0"}, VxlanId: 7, SrcAddr: at(host), Group: at(3 - host), Port: port,
			UDPCSum: sum, UDP6ZeroCSumTx: !sum, UDP6ZeroCSumRx: true,
		}
		if err := netlink.LinkAdd(link); err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(fmt.Sprintf("10.88.0.%d/24", host))
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
		if err := netlink.LinkSetIP6AddrGenMode(link, nl.IN6_ADDR_GEN_MODE_NONE); err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	})
}

// refuseTunnels makes a device behave as on a kernel without super-frames of tunnels.
func refuseTunnels(t *testing.T, d *Device) {
	t.Helper()
	must(t, unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads))
	d.offloads.Tunnels = false
}

// tunnelWire returns a wire with VXLAN on top. The ends with the indexes in `older` (0 or 1) behave
// like kernels without super-frames of tunnels.
func tunnelWire(t *testing.T, v6, sum bool, port int, older ...int) *wire {
	w := newWireOf(t, func(a, b *Device) {
		if !a.Offloads().Tunnels {
			t.Fatal("this kernel has no segmentation offload of UDP tunnels")
		}
		for _, i := range older {
			refuseTunnels(t, []*Device{a, b}[i])
		}
	})
	w.a.vxlan(t, 1, v6, sum, port)
	w.b.vxlan(t, 2, v6, sum, port)
	return w
}

// With any outer port, and with or without outer checksums, a TCP connection in VXLAN crosses in
// super-frames.
func TestTunnelSuperFrames(t *testing.T) {
	for i := range 4 {
		v6, sum, port := i&1 != 0, i&2 != 0, 4789+i
		w := tunnelWire(t, v6, sum, port)
		w.transfer(t, "10.88.0.2:5001", 16<<20, asItIs)
		w.clean(t)
		a, b := w.devA.Stats(), w.devB.Stats()
		if w.kinds[frame.GSOTunnelTCP4].Load() == 0 || w.longest.Load() < 20_000 || a.ReadTunnel == 0 || a.Split != 0 {
			t.Errorf("v6 %v, checksum %v: %d super-frames, the longest %d bytes", v6, sum, w.kinds[frame.GSOTunnelTCP4].Load(), w.longest.Load())
		}
		if b.WrittenTunnel != a.ReadTunnel || b.WrittenSuper < b.WrittenTunnel || b.Cut != 0 {
			t.Errorf("v6 %v, checksum %v: %d read, %d written, %d cut", v6, sum, a.ReadTunnel, b.WrittenTunnel, b.Cut)
		}
		if 2*w.super.Load() < w.frames.Load()-w.super.Load() {
			t.Errorf("v6 %v, checksum %v: %d of %d frames are super-frames", v6, sum, w.super.Load(), w.frames.Load())
		}
	}
}

// If the segments are too small to be carried in a super-frame, it is cut when it is read.
func TestSmallTunnelledSegmentsAreSplit(t *testing.T) {
	w := tunnelWire(t, false, true, 4789)
	w.transfer(t, "10.88.0.2:5001", 1<<20, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, 200)
	})
	w.clean(t)
	if s := w.devA.Stats(); s.Split == 0 || w.kinds[frame.GSOTunnelTCP4].Load() != 0 {
		t.Errorf("%+v", s)
	}
}

// If only one end's kernel supports super-frames of tunnels, traffic in the tunnel still passes in
// both directions.
func TestTunnelsWithOlderKernels(t *testing.T) {
	for _, sum := range []bool{false, true} {
		w := tunnelWire(t, false, sum, 4789, 1)
		w.transfer(t, "10.88.0.2:5001", 4<<20, asItIs)
		w.clean(t)
		if a, b := w.devA.Stats(), w.devB.Stats(); b.Cut == 0 || b.Cut != a.ReadTunnel || b.WrittenTunnel != 0 || b.ReadTunnel != 0 {
			t.Errorf("read %d, cut %d, written %d, read there %d", a.ReadTunnel, b.Cut, b.WrittenTunnel, b.ReadTunnel)
		}
	}
	w := tunnelWire(t, false, true, 4789, 0)
	w.transfer(t, "10.88.0.2:5001", 4<<20, asItIs)
	w.clean(t)
	if a := w.devA.Stats(); a.ReadTunnel != 0 {
		t.Errorf("%d super-frames read without the offload", a.ReadTunnel)
	}
}

// A peer that cannot read super-frames of tunnels gets single packets.
func TestPieces(t *testing.T) {
	a, b := newSpace(t), newSpace(t)
	w := &wire{a: a, b: b, devA: a.open(t, 1, Options{}), devB: b.open(t, 2, Options{})}
	pumpAll(t, w.devA, func(frames []*frame.Frame) {
		for _, f := range frames {
			super := f.Facts.GSO.Tunnelled()
			flow := f.Flow
			for _, p := range w.devA.Pool().Pieces(nil, f) {
				if p.Facts.GSO.Tunnelled() || p.Flow != flow || super && (!p.TCP || !p.Facts.Ordered) {
					t.Errorf("a piece with %+v", p.Facts)
				}
				if super {
					w.super.Add(1)
				}
				if err := w.devB.Write(p); err != nil && err != os.ErrClosed {
					t.Errorf("Write: %v", err)
				}
				p.Release()
			}
		}
	})
	pump(t, w.devB, w.devA, func(*frame.Frame) {})
	a.vxlan(t, 1, false, false, 4789)
	b.vxlan(t, 2, false, false, 4789)
	w.transfer(t, "10.88.0.2:5001", 4<<20, asItIs)
	w.clean(t)
	if w.super.Load() == 0 || w.devB.Stats().WrittenSuper != 0 {
		t.Errorf("%d pieces, %+v", w.super.Load(), w.devB.Stats())
	}
}

// tunnelled returns a super-frame to 10.79.0.9 or fd79::9, as it arrives from a peer. The parameter
// `header` has the bytes between the outer UDP header and the inner IP header.
func tunnelled(p *Pool, v6, sum, udp bool, header []byte, payload, size int, ttl byte) *frame.Frame {
	l4 := make([]byte, 20, 20+payload)
	copy(l4, []byte{0, 80, 0, 81, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9, 0x50, 0x18, 1, 0})
	kind, proto := frame.GSOTunnelTCP4, byte(6)
	if udp {
		kind, proto, l4 = frame.GSOTunnelUDP, 17, []byte{0, 80, 0, 81, byte((payload + 8) >> 8), byte(payload + 8), 0, 0}
	}
	for i := range payload {
		l4 = append(l4, byte(i*11+i>>8))
	}
	inner := append(ip4(proto, len(l4), 64, "10.88.0.2", "10.88.0.1"), l4...)
	b := append([]byte{0x90, 0, 0x12, 0xb5, 0, 0, 0, 0}, header...)
	b = append(b, inner...)
	outer := ip4(17, len(b), ttl, "10.77.0.2", "10.79.0.9")
	if v6 {
		outer = append([]byte{0x60, 0, 0, 0, byte(len(b) >> 8), byte(len(b)), 17, ttl}, netip.MustParseAddr("fd77::2").AsSlice()...)
		outer = append(outer, netip.MustParseAddr("fd79::9").AsSlice()...)
	}
	if sum {
		b[6] = 1 // a checksum that is not zero
	}
	binary.BigEndian.PutUint16(b[4:], uint16(len(outer)+8+len(header)))
	f := p.Get(len(outer) + len(b))
	copy(f.Data[copy(f.Data, outer):], b)
	f.Facts = frame.Facts{GSO: kind, GSOSize: uint16(size), CSum: true}
	return f
}

func ip4(proto byte, payload int, ttl byte, src, dst string) []byte {
	n := 20 + payload
	b := []byte{0x45, 0, byte(n >> 8), byte(n), 0xff, 0xfe, 0x40, 0, ttl, proto, 0, 0}
	b = append(append(b, netip.MustParseAddr(src).AsSlice()...), netip.MustParseAddr(dst).AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], ^packettest.Sum(b))
	return b
}

// This package and the kernel cut a frame into exactly the same packets. The kernel cuts it because
// it forwards it to a device without offloads.
func TestTunnelsAreCutAsTheKernelDoes(t *testing.T) {
	vxlan := append([]byte{8, 0, 0, 0, 0, 0, 7, 0}, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0)
	geneve := append([]byte{2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 9, 9, 9, 9}, vxlan[8:]...)
	s := newSpace(t)
	d := s.open(t, 1, Options{})
	plain := plainDevice(t, s)
	for i := range 16 {
		v6, sum, udp, header := i&1 != 0, i&2 != 0, i&4 != 0, vxlan
		if i&8 != 0 {
			header = geneve
		}
		const payload, size = 5003, 1201
		must(t, d.Write(tunnelled(d.Pool(), v6, sum, udp, header, payload, size, 64)))
		ours := d.Pool().Pieces(nil, tunnelled(d.Pool(), v6, sum, udp, header, payload, size, 63))
		if len(ours) != 5 {
			t.Fatalf("%d pieces", len(ours))
		}
		for k, want := range ours {
			got := readPlain(t, plain)
			var in packet.Info
			for r := packet.Parse(got, &in); r != packet.OK || in.Proto != packet.ProtoUDP; r = packet.Parse(got, &in) {
				got = readPlain(t, plain) // skips the kernel's own packets
			}
			if !bytes.Equal(got, want.Data) {
				t.Fatalf("v6 %v, checksum %v, UDP %v, header of %d, packet %d: the kernel's and ours\n% x\n% x", v6, sum, udp, len(header), k, got[:min(130, len(got))], want.Data[:130])
			}
		}
	}
	if s := d.Stats(); s.WrittenTunnel != 16 || s.WriteRefused != 0 || s.WriteDrops != (Stats{}).WriteDrops {
		t.Errorf("%+v", s)
	}
}
