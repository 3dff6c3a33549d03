package packet

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

func seeds(f *testing.F, add func([]byte)) {
	frag := spec{udp: true, payload: bytesUpTo(40)}.build()
	frag[6] = 0x20
	v6 := spec{v6: true, payload: bytesUpTo(40)}.build()
	for _, b := range [][]byte{
		{}, {0x45}, {0x60},
		spec{payload: bytesUpTo(1400), options: 12}.build(),
		spec{v6: true, udp: true, payload: bytesUpTo(1400)}.build(),
		frag, v6,
		extend(v6, []byte{ProtoHopByHop, ProtoFragment}, make([]byte, 8), make([]byte, 8)),
		extend(v6, []byte{ProtoRouting, ProtoAH}, make([]byte, 8), make([]byte, 8)),
	} {
		add(b)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, b []byte) {
		var in Info
		before := bytes.Clone(b)
		if Parse(b, &in) != OK {
			return
		}
		switch {
		case !bytes.Equal(b, before):
			t.Error("Parse changed the packet")
		case in.TotalLen != len(b), in.HeaderLen < 20, in.HeaderLen+in.L4HeaderLen > len(b):
			t.Errorf("lengths: %+v", in)
		case in.L4HeaderLen > 0 && in.CSumStart+in.CSumOffset+2 > len(b):
			t.Errorf("checksum outside: %+v", in)
		case in.Src != Src(b), in.Dst != Dst(b):
			t.Errorf("addresses: %+v", in)
		}
		SetCE(b)
		if Parse(b, &in) != OK {
			t.Error("SetCE broke the packet")
		}
	})
}

func FuzzValidate(f *testing.F) {
	seeds(f, func(b []byte) {
		f.Add(b, uint8(0), uint16(0), false)
		f.Add(b, uint8(1), uint16(500), true)
		f.Add(b, uint8(3), uint16(700), true)
	})
	f.Fuzz(func(t *testing.T, b []byte, gso uint8, size uint16, csum bool) {
		var in Info
		if Parse(b, &in) != OK {
			return
		}
		fr := frame.New(b, nil)
		fr.Facts = frame.Facts{GSO: frame.GSO(gso), GSOSize: size, CSum: csum}
		if Validate(b, &in, &fr.Facts) != OK {
			return
		}
		h := BuildVnetHeader(b, &in, fr.Facts)
		switch n := segments(&in, fr.Facts); {
		case int(h.HdrLen) > len(b):
			t.Errorf("header length %d of %d bytes", h.HdrLen, len(b))
		case h.Flags != 0 && int(h.CSumStart)+int(h.CSumOffset)+2 > len(b):
			t.Errorf("checksum outside: %+v", h)
		case n > MaxSegments, n > 1 && fr.Facts.GSOSize < MinSegment:
			t.Errorf("%d segments of %d bytes", n, fr.Facts.GSOSize)
		case (n > 1) != (h.GSOType != 0), (h.GSOSize != 0) != (h.GSOType != 0):
			t.Errorf("%d segments, header %+v", n, h)
		}
		var facts frame.Facts
		if r := h.Facts(b, &in, &facts); r != OK || facts != fr.Facts {
			t.Errorf("own header refused: %v %+v, was %+v", r, facts, fr.Facts)
		}
		for DropLastSegment(fr) {
			if r := Parse(fr.Data, &in); r != OK {
				t.Fatalf("shortened frame: %v", r)
			}
			if r := Validate(fr.Data, &in, &fr.Facts); r != OK {
				t.Fatalf("shortened frame: %v", r)
			}
		}
	})
}

func FuzzVnetFacts(f *testing.F) {
	seeds(f, func(b []byte) {
		f.Add(b, []byte{1, 1, 0, 0, 0xf4, 1, 20, 0, 16, 0})
		f.Add(b, []byte{1, 0, 0, 0, 0, 0, 40, 0, 6, 0})
	})
	f.Fuzz(func(t *testing.T, b, header []byte) {
		var in Info
		h, r := ReadVnetHeader(header)
		if r != OK || Parse(b, &in) != OK {
			return
		}
		var facts frame.Facts
		if h.Facts(b, &in, &facts) != OK || in.TotalLen > MaxLen {
			return
		}
		n := Segments(&in, facts)
		if n == 1 {
			if r := Validate(b, &in, &facts); r != OK {
				t.Errorf("own frame refused by the peer: %v %+v", r, facts)
			}
			return
		}
		for _, i := range []int{0, n / 2, n - 1} {
			seg := make([]byte, SegmentLen(&in, facts, i))
			Segment(seg, b, &in, facts, i)
			var part Info
			if r := Parse(seg, &part); r != OK || !SameFlow(&part, &in) {
				t.Fatalf("segment %d: %v", i, r)
			}
			if r := Validate(seg, &part, &frame.Facts{CSum: true}); r != OK {
				t.Fatalf("segment %d: %v", i, r)
			}
		}
	})
}
