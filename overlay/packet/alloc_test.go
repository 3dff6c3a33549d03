package packet

import (
	"testing"
)

func TestNoAllocations(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		f := spec{v6: v6, ecn: 1, payload: bytesUpTo(60000)}.frame(1400)
		h := VnetHeader{Flags: vnetNeedsCSum, GSOType: 1, GSOSize: 1400, CSumStart: 20, CSumOffset: 16}
		if v6 {
			h.GSOType, h.CSumStart = 4, 40
		}
		dst := make([]byte, 2000)
		var in Info
		if n := testing.AllocsPerRun(20, func() {
			Parse(f.Data, &in)
			h.Facts(f.Data, &in, &f.Facts)
			Validate(f.Data, &in, &f.Facts)
			BuildVnetHeader(f.Data, &in, f.Facts).Put(dst)
			Segment(dst[:SegmentLen(&in, f.Facts, 1)], f.Data, &in, f.Facts, 1)
			SetCE(f.Data)
			DropLastSegment(f)
		}); n != 0 {
			t.Errorf("v6 %v: %v allocations", v6, n)
		}
	}
}

// BenchmarkParse parses one packet from the device.
func BenchmarkParse(b *testing.B) {
	p := spec{payload: bytesUpTo(1400), options: 12}.build()
	var in Info
	b.ReportAllocs()
	for b.Loop() {
		Parse(p, &in)
	}
}

// BenchmarkRebuild validates one super-frame from a peer and builds its virtio header.
func BenchmarkRebuild(b *testing.B) {
	f := spec{payload: bytesUpTo(60000)}.frame(1400)
	dst := make([]byte, VnetHeaderLen)
	var in Info
	b.ReportAllocs()
	for b.Loop() {
		if Parse(f.Data, &in) != OK || Validate(f.Data, &in, &f.Facts) != OK {
			b.Fatal("refused")
		}
		BuildVnetHeader(f.Data, &in, f.Facts).Put(dst)
	}
}
