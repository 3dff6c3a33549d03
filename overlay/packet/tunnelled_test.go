package packet

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// super returns a tunnelled super-frame and its virtio header, as they are read from the device.
func (s shell) super(inner spec, size int) ([]byte, VnetHeader) {
	inner.partial = true
	p := inner.build()
	b := s.around(p, true)
	at := len(b) - len(p)
	h := VnetHeader{Flags: vnetNeedsCSum, GSOType: vnetTunnel4, GSOSize: uint16(size), OuterStart: 20, InnerStart: uint16(at)}
	if s.v6 {
		h.GSOType, h.OuterStart = vnetTunnel6, 40
	}
	if s.sum {
		h.Flags |= vnetTunnelCSum
	}
	h.CSumStart, h.CSumOffset = uint16(at+20), 16
	if inner.v6 {
		h.CSumStart += 20
	}
	switch {
	case inner.udp:
		h.CSumOffset, h.GSOType = 6, h.GSOType|vnetGSOUDPL4
	case inner.v6:
		h.GSOType |= vnetGSOTCP6
	default:
		h.GSOType |= vnetGSOTCP4
	}
	return b, h
}

// carried returns such a super-frame as it is sent to the peer.
func (s shell) carried(t testing.TB, inner spec, size int) *frame.Frame {
	t.Helper()
	b, h := s.super(inner, size)
	f := frame.New(b, nil)
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatal(r)
	}
	if r := h.Facts(b, &in, &f.Facts); r != OK || !f.Facts.GSO.Tunnelled() {
		t.Fatalf("%v %+v", r, f.Facts)
	}
	return f
}

// every calls do for all kinds of tunnels and of inner packets.
func every(do func(s shell, inner spec)) {
	for _, kind := range []string{"vxlan", "vlan", "geneve", "geneve3"} {
		for i := range 16 {
			s := shell{kind: kind, v6: i&1 != 0, sum: i&2 != 0, id: 5, port: 40000}
			do(s, spec{v6: i&4 != 0, udp: i&8 != 0, flags: tcpPSH | tcpACK, id: 0xfffe, seq: 0xffffff00, payload: bytesUpTo(5000)})
		}
	}
}

// Segment produces the same packets that the tunnel's end would have made from each inner segment.
func TestTunnelledSegments(t *testing.T) {
	const size = 1300
	every(func(s shell, inner spec) {
		f := s.carried(t, inner, size)
		var in Info
		var tn Tunnel
		if r := Parse(f.Data, &in); r != OK {
			t.Fatal(r)
		}
		if r := tn.Validate(f.Data, &in, &f.Facts); r != OK || tn.Count(f.Facts) != 4 {
			t.Fatalf("%+v: %v, %d segments", s, r, tn.Count(f.Facts))
		}
		for i := range 4 {
			part := inner
			part.payload = inner.payload[i*size : min((i+1)*size, len(inner.payload))]
			part.id += uint16(i)
			part.seq += uint32(i * size)
			if i < 3 {
				part.flags &^= tcpPSH
			}
			want := s.around(part.build(), false)
			if !s.v6 {
				old := binary.BigEndian.Uint16(want[4:])
				binary.BigEndian.PutUint16(want[4:], old+uint16(i))
				updateChecksum(want[10:], old, old+uint16(i))
			}
			got := make([]byte, tn.SegmentLen(f.Facts, i))
			tn.Segment(got, f.Data, &in, f.Facts, i)
			if !bytes.Equal(got, want) {
				t.Fatalf("%+v, packet %d:\n% x\n% x", s, i, got[:130], want[:130])
			}
		}
	})
}

// After the way through the tunnel, the virtio header and the bytes are the same as before. Only
// two fields of the header differ: hdr_len, and the outer offset, which is shifted for the kernel's
// check (tunAsEthernet).
func TestTunnelHeaderAndBack(t *testing.T) {
	every(func(s shell, inner spec) {
		was, h := s.super(inner, 1300)
		f := s.carried(t, inner, 1300)
		var in Info
		var tn Tunnel
		Parse(f.Data, &in)
		if r := tn.Validate(f.Data, &in, &f.Facts); r != OK {
			t.Fatal(r)
		}
		if !bytes.Equal(f.Data, was) {
			t.Errorf("%+v: other bytes", s)
		}
		got, fits := tn.VnetHeader(f.Data, &in, f.Facts)
		if fits != (s.kind != "geneve3") {
			t.Errorf("%+v: fits: %v", s, fits)
		}
		if got.OuterStart != h.OuterStart+14 {
			t.Errorf("%+v: the UDP header at %d", s, got.OuterStart)
		}
		var b [VnetTunnelHeaderLen]byte
		got.Put(b[:])
		again, r := ReadVnetHeader(b[:])
		if got.OuterStart, got.HdrLen = h.OuterStart, 0; r != OK || got != h {
			t.Errorf("%+v, want %+v", got, h)
		}
		if again.HdrLen <= again.CSumStart || again.InnerStart != h.InnerStart {
			t.Errorf("%+v", again)
		}
	})
}

// DropLastSegment removes segments until an ordinary packet is left. All checksums remain correct.
func TestDropLastTunnelled(t *testing.T) {
	every(func(s shell, inner spec) {
		f := s.carried(t, inner, 1300)
		n := 4
		for DropLastSegment(f) {
			n--
			var in Info
			if r := Parse(f.Data, &in); r != OK {
				t.Fatal(r)
			}
			if n > 1 {
				var tn Tunnel
				if r := tn.Describe(f.Data, &in, &f.Facts); r != OK || tn.Count(f.Facts) != n {
					t.Fatalf("%+v: %v, %d segments, want %d", s, r, tn.Count(f.Facts), n)
				}
			}
		}
		inner.payload = inner.payload[:1300]
		inner.flags &^= tcpPSH
		if want := s.around(inner.build(), false); n != 1 || !bytes.Equal(f.Data, want) || f.Facts != (frame.Facts{}) {
			t.Fatalf("%+v: %d left, %+v\n% x\n% x", s, n, f.Facts, f.Data[:130], want[:130])
		}
	})
}

// docs/wire.md shows the headers of a frame on the wire.
func TestGoldenTunnelled(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\n    inner OUTER ")
	line, _, _ = strings.Cut(line, "\n")
	want, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	b, h := shell{kind: "vxlan"}.super(spec{options: 12, payload: bytesUpTo(7092 - 50 - 52)}, 1398)
	copy(b, want)
	binary.BigEndian.PutUint16(b[24:], uint16(len(b)-20))
	var in Info
	var facts frame.Facts
	if r := Parse(b, &in); r != OK {
		t.Fatal(r)
	}
	if r := h.Facts(b, &in, &facts); r != OK || facts.GSO != frame.GSOTunnelTCP4 {
		t.Fatal(r, facts)
	}
	if !bytes.Equal(b[:len(want)], want) {
		t.Errorf("docs/wire.md has %x, sent is %x", want, b[:len(want)])
	}
}

// Validate refuses these claims of a peer.
func TestTunnelledNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*frame.Frame)
		want   Reason
	}{
		"in the outer header":   {func(f *frame.Frame) { f.Data[25] = 27 }, BadTunnel},
		"far away":              {func(f *frame.Frame) { f.Data[24] = 4 }, BadTunnel},
		"not at the packet":     {func(f *frame.Frame) { f.Data[25]++ }, BadVersion},
		"inner length":          {func(f *frame.Frame) { f.Data[53]++ }, BadLength},
		"inner fragment":        {func(f *frame.Frame) { f.Data[56] |= 0x20 }, OffloadOnFragment},
		"inner protocol":        {func(f *frame.Frame) { f.Data[59] = 17 }, OffloadMismatch},
		"inner TCP header":      {func(f *frame.Frame) { f.Data[82] = 0 }, BadTransport},
		"outer fragment":        {func(f *frame.Frame) { f.Data[6] |= 0x20 }, OffloadOnFragment},
		"outer protocol":        {func(f *frame.Frame) { f.Data[9] = 6 }, OffloadMismatch},
		"no checksum":           {func(f *frame.Frame) { f.Facts.CSum = false }, PartialMissing},
		"no size":               {func(f *frame.Frame) { f.Facts.GSOSize = 0 }, BadSegmentSize},
		"small":                 {func(f *frame.Frame) { f.Facts.GSOSize = MinSegment - 1 }, BadSegmentSize},
		"one segment":           {func(f *frame.Frame) { f.Facts.GSOSize = 5000 }, BadSegmentSize},
		"of TCP over IPv6":      {func(f *frame.Frame) { f.Facts.GSO = frame.GSOTunnelTCP6 }, OffloadMismatch},
		"of UDP":                {func(f *frame.Frame) { f.Facts.GSO = frame.GSOTunnelUDP }, OffloadMismatch},
		"of a kind that is not": {func(f *frame.Frame) { f.Facts.GSO = frame.GSOTunnelUDP + 1 }, OffloadMismatch},
	} {
		f := shell{kind: "vxlan"}.carried(t, spec{payload: bytesUpTo(5000)}, 1300)
		c.change(f)
		var in Info
		var tn Tunnel
		if r := Parse(f.Data, &in); r != OK {
			t.Fatal(name, r)
		}
		if r := tn.Validate(f.Data, &in, &f.Facts); r != c.want {
			t.Errorf("%s: %v, want %v", name, r, c.want)
		}
	}
}

func TestTunnelsTakeNoMemory(t *testing.T) {
	f := shell{kind: "vxlan"}.carried(t, spec{payload: bytesUpTo(60000)}, 1300)
	was := bytes.Clone(f.Data)
	var in Info
	dst := make([]byte, 2000)
	if n := testing.AllocsPerRun(20, func() {
		copy(f.Data, was)
		var tn Tunnel
		Parse(f.Data, &in)
		FlowOf(f.Data, &in, FlowKey{})
		if tn.Validate(f.Data, &in, &f.Facts) != OK {
			t.Fatal("refused")
		}
		h, _ := tn.VnetHeader(f.Data, &in, f.Facts)
		h.Put(dst[:VnetTunnelHeaderLen])
		tn.Segment(dst[:tn.SegmentLen(f.Facts, 1)], f.Data, &in, f.Facts, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTunnelled imitates a peer that sends arbitrary facts about a tunnelled super-frame.
func FuzzTunnelled(f *testing.F) {
	for _, s := range []shell{{kind: "vxlan"}, {kind: "geneve", v6: true, sum: true}, {kind: "geneve3", sum: true}} {
		for _, inner := range []spec{{payload: bytesUpTo(2000)}, {v6: true, payload: bytesUpTo(2000)}, {udp: true, payload: bytesUpTo(2000)}} {
			c := s.carried(f, inner, 700)
			f.Add(c.Data, uint8(c.Facts.GSO), c.Facts.GSOSize)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, gso uint8, size uint16) {
		fr := frame.New(b, nil)
		fr.Facts = frame.Facts{GSO: frame.GSO(gso), GSOSize: size, CSum: true}
		var in Info
		var tn Tunnel
		if len(b) > MaxLen || !fr.Facts.GSO.Tunnelled() || Parse(b, &in) != OK {
			return
		}
		short := frame.New(bytes.Clone(b), nil)
		short.Facts = fr.Facts
		for range MaxSegments {
			if !DropLastSegment(short) {
				break
			}
			var rest Info
			if r := Parse(short.Data, &rest); r != OK {
				t.Fatalf("shortened: %v", r)
			}
		}
		if tn.Validate(b, &in, &fr.Facts) != OK {
			return
		}
		h, _ := tn.VnetHeader(b, &in, fr.Facts)
		n := tn.Count(fr.Facts)
		if n < 2 || n > MaxSegments || fr.Facts.GSOSize < MinSegment || int(h.HdrLen) > len(b) ||
			int(h.CSumStart)+int(h.CSumOffset)+2 > len(b) || int(h.InnerStart) >= int(h.CSumStart) {
			t.Fatalf("%d segments, %+v", n, h)
		}
		total := 0
		for i := range n {
			seg := make([]byte, tn.SegmentLen(fr.Facts, i))
			tn.Segment(seg, b, &in, fr.Facts, i)
			var part Info
			if r := Parse(seg, &part); r != OK || !SameFlow(&part, &in) {
				t.Fatalf("segment %d: %v", i, r)
			}
			total += len(seg) - tn.At - tn.Inner.HeaderLen - tn.Inner.L4HeaderLen
		}
		if total != tn.Inner.Payload() {
			t.Errorf("%d bytes of payload became %d", tn.Inner.Payload(), total)
		}
	})
}

// FuzzTunnelFacts passes virtio headers that a faulty kernel might return.
func FuzzTunnelFacts(f *testing.F) {
	for _, kind := range []string{"vxlan", "geneve"} {
		b, h := shell{kind: kind, sum: true}.super(spec{payload: bytesUpTo(2000)}, 700)
		var header [VnetTunnelHeaderLen]byte
		h.Put(header[:])
		f.Add(b, header[:])
	}
	f.Fuzz(func(t *testing.T, b, header []byte) {
		h, r := ReadVnetHeader(header)
		var in Info
		if r != OK || Parse(b, &in) != OK || in.TotalLen > MaxLen {
			return
		}
		var facts frame.Facts
		if h.Facts(b, &in, &facts) != OK || !facts.GSO.Tunnelled() {
			return
		}
		var tn Tunnel
		if r := tn.Describe(b, &in, &facts); r != OK {
			t.Fatalf("what it said of itself: %v", r)
		}
		if !tn.Carried(facts) {
			return
		}
		if r := tn.Validate(b, &in, &facts); r != OK {
			t.Errorf("own frame refused by the peer: %v", r)
		}
	})
}
