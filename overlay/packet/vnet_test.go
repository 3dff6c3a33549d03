package packet

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"pgregory.net/rapid"
)

func TestVnetHeaderBytes(t *testing.T) {
	h := VnetHeader{Flags: 1, GSOType: 4, HdrLen: 72, GSOSize: 1428, CSumStart: 40, CSumOffset: 16}
	var b [VnetHeaderLen]byte
	h.Put(b[:])
	got, r := ReadVnetHeader(b[:])
	if r != OK || got != h {
		t.Errorf("%v %+v", r, got)
	}
	if _, r := ReadVnetHeader(b[:9]); r != Truncated {
		t.Errorf("9 bytes: %v", r)
	}
}

// The virtio header of a frame must be the same at both ends of the tunnel. The facts between them
// have only the kind, the segment size and one bit.
func TestOffloadCrossesTheTunnel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.partial = true
		size := rapid.IntRange(MinSegment, 3000).Draw(t, "size")
		b := s.build()
		in := parseRapid(t, b)
		given := VnetHeader{Flags: vnetNeedsCSum, CSumStart: uint16(in.CSumStart), CSumOffset: uint16(in.CSumOffset),
			HdrLen: uint16(in.HeaderLen + in.L4HeaderLen)}
		if len(s.payload) > size {
			given.GSOSize = uint16(size)
			given.GSOType = map[frame.GSO]uint8{frame.GSOTCP4: 1, frame.GSOTCP6: 4, frame.GSOUDP: 5}[s.gso()]
			if !s.udp && s.flags&tcpCWR != 0 {
				given.GSOType |= vnetGSOECN
			}
		}
		facts := frame.Facts{Ordered: true}
		if r := given.Facts(b, &in, &facts); r != OK || !facts.CSum || !facts.Ordered {
			t.Fatalf("Facts: %v %+v", r, facts)
		}
		want := bytes.Clone(b)
		field := b[in.CSumStart+in.CSumOffset:]
		field[0], field[1] = 0xde, 0xad // the receiver must not trust the peer's value there
		if r := Validate(b, &in, &facts); r != OK {
			t.Fatalf("Validate: %v", r)
		}
		if !bytes.Equal(b, want) {
			t.Fatalf("got  %x\nwant %x", b, want)
		}
		if got := BuildVnetHeader(b, &in, facts); got != given {
			t.Fatalf("built %+v, the kernel gave %+v", got, given)
		}
	})
}

func TestFactsWithoutOffload(t *testing.T) {
	b := spec{payload: bytesUpTo(50)}.build()
	in := parse(t, b)
	facts := frame.Facts{GSO: frame.GSOUDP, GSOSize: 9, CSum: true}
	if r := (VnetHeader{HdrLen: 999}).Facts(b, &in, &facts); r != OK || facts != (frame.Facts{}) {
		t.Errorf("%v %+v", r, facts)
	}
}

// A partial checksum in another place (in a tunnelled packet, or after a routing header) is
// completed at the sending end, because the facts cannot describe its place to the peer.
func TestForeignPartialChecksumIsCompleted(t *testing.T) {
	inner := spec{partial: true, payload: bytesUpTo(51)}
	b := spec{udp: true, payload: inner.build()}.build()
	inner.partial = false
	want := spec{udp: true, payload: inner.build()}.build()
	copy(want[20+udpCSumOffset:], b[20+udpCSumOffset:20+udpCSumOffset+2]) // not the inner one's
	in := parse(t, b)
	var facts frame.Facts
	h := VnetHeader{Flags: vnetNeedsCSum, CSumStart: 20 + 8 + 20, CSumOffset: 16}
	if r := h.Facts(b, &in, &facts); r != OK || facts.CSum {
		t.Fatalf("%v %+v", r, facts)
	}
	if !bytes.Equal(b, want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
}

func TestFactsRefuses(t *testing.T) {
	tcp4 := spec{payload: bytesUpTo(3000)}
	for _, c := range []struct {
		name string
		s    spec
		h    VnetHeader
		want Reason
	}{
		{"unknown kind", tcp4, VnetHeader{Flags: 1, GSOType: 3, GSOSize: 1000, CSumStart: 20, CSumOffset: 16}, UnknownOffload},
		{"no partial checksum", tcp4, VnetHeader{GSOType: 1, GSOSize: 1000}, PartialMissing},
		{"kind of the other version", tcp4, VnetHeader{Flags: 1, GSOType: 4, GSOSize: 1000, CSumStart: 20, CSumOffset: 16}, OffloadMismatch},
		{"size zero", tcp4, VnetHeader{Flags: 1, GSOType: 1, CSumStart: 20, CSumOffset: 16}, BadSegmentSize},
		{"checksum elsewhere", tcp4, VnetHeader{Flags: 1, GSOType: 1, GSOSize: 1000, CSumStart: 24, CSumOffset: 16}, BadChecksumPlace},
		{"checksum outside", tcp4, VnetHeader{Flags: 1, CSumStart: 3039, CSumOffset: 0}, BadChecksumPlace},
		{"checksum far outside", tcp4, VnetHeader{Flags: 1, CSumStart: 65535, CSumOffset: 65535}, BadChecksumPlace},
	} {
		b := c.s.build()
		in := parse(t, b)
		var facts frame.Facts
		if r := c.h.Facts(b, &in, &facts); r != c.want {
			t.Errorf("%s: %v, want %v", c.name, r, c.want)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	super := func(s spec, size int) *frame.Frame { return s.frame(size) }
	tcp := spec{payload: bytesUpTo(3000)}
	edit := func(f *frame.Frame, change func(*frame.Frame)) *frame.Frame { change(f); return f }
	for _, c := range []struct {
		name string
		f    *frame.Frame
		want Reason
	}{
		{"fine", super(tcp, 1000), OK},
		{"floor", super(tcp, MinSegment), OK},
		{"under the floor", super(tcp, MinSegment-1), BadSegmentSize},
		{"size one", super(spec{payload: bytesUpTo(100)}, 1), BadSegmentSize},
		{"udp size one", super(spec{udp: true, payload: bytesUpTo(100)}, 1), BadSegmentSize},
		{"too many", super(spec{payload: bytesUpTo(60000)}, 100), TooManySegments},
		{"single and small", super(spec{payload: bytesUpTo(10)}, 10), OK},
		{"size zero", super(tcp, 0), BadSegmentSize},
		{"size without kind", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts.GSO = frame.GSONone }), BadSegmentSize},
		{"size on a plain packet", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts = frame.Facts{GSOSize: 1} }), BadSegmentSize},
		{"kind without checksum", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts.CSum = false }), PartialMissing},
		{"v6 kind on v4", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts.GSO = frame.GSOTCP6 }), OffloadMismatch},
		{"udp kind on tcp", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts.GSO = frame.GSOUDP }), OffloadMismatch},
		{"unknown kind", edit(super(tcp, 1000), func(f *frame.Frame) { f.Facts.GSO = 77 }), OffloadMismatch},
		{"checksum on icmp", edit(super(tcp, 1000), func(f *frame.Frame) {
			f.Data[9], f.Facts = ProtoICMP, frame.Facts{CSum: true}
		}), OffloadMismatch},
		{"fragment", edit(super(tcp, 1000), func(f *frame.Frame) { f.Data[6] = 0x20 }), OffloadOnFragment},
		{"short tcp header", edit(super(tcp, 1000), func(f *frame.Frame) { f.Data[32] = 0x40 }), BadTransport},
		{"udp length", edit(super(spec{udp: true, payload: bytesUpTo(3000)}, 1000), func(f *frame.Frame) { f.Data[25]++ }), BadLength},
	} {
		in := parse(t, c.f.Data)
		if r := Validate(c.f.Data, &in, &c.f.Facts); r != c.want {
			t.Errorf("%s: %v, want %v", c.name, r, c.want)
		}
	}
	routing := make([]byte, 8)
	routing[3] = 1
	b := extend(spec{v6: true, payload: bytesUpTo(100)}.build(), []byte{ProtoRouting}, routing)
	in := parse(t, b)
	if r := Validate(b, &in, &frame.Facts{CSum: true}); r != OffloadOnRouted {
		t.Errorf("routing header: %v", r)
	}
	b = append(spec{v6: true, payload: bytesUpTo(65495)}.build(), make([]byte, 20)...)
	b[4], b[5] = 0xff, 0xff
	b = append(b, make([]byte, 40+65535-len(b))...)
	in = parse(t, b)
	if r := Validate(b, &in, &frame.Facts{}); r != TooLong {
		t.Errorf("%d bytes: %v", len(b), r)
	}
	if r := Validate(b[:100], &in, &frame.Facts{}); r != BadLength {
		t.Errorf("data shorter than described: %v", r)
	}
}
