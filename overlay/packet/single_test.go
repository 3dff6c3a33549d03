package packet

import (
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"pgregory.net/rapid"
)

// Each segment of a super-frame except the first one continues the previous segment.
func TestSinglesKnowASuperFrameCutUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.udp = false
		size := rapid.IntRange(MinSegment, 2000).Draw(t, "size")
		f := s.frame(size)
		in := parseRapid(t, f.Data)
		var singles Singles
		for i := range Count(&in, f.Facts) {
			got := make([]byte, SegmentLen(&in, f.Facts, i))
			Segment(got, f.Data, &in, f.Facts, i)
			part := parseRapid(t, got)
			if continues, _ := singles.Next(got, &part, 7); continues != (i > 0) {
				t.Fatalf("segment %d: %v", i, continues)
			}
		}
	})
}

func TestSinglesThatNoSuperFrameHolds(t *testing.T) {
	first := spec{flags: tcpACK, seq: 1000, payload: make([]byte, 1400)}
	for _, c := range []struct {
		name   string
		change func(s *spec)
		flow   uint32
		want   bool
	}{
		{"the next", func(*spec) {}, 1, true},
		{"a shorter one", func(s *spec) { s.payload = s.payload[:10] }, 1, true},
		{"a longer one", func(s *spec) { s.payload = make([]byte, 1401) }, 1, false},
		{"the same again", func(s *spec) { s.seq = 1000 }, 1, false},
		{"a gap", func(s *spec) { s.seq++ }, 1, false},
		{"another flow", func(*spec) {}, 2, false},
		{"no data", func(s *spec) { s.payload = nil }, 1, false},
		{"UDP", func(s *spec) { s.udp = true }, 1, false},
	} {
		var singles Singles
		see := func(s spec, flow uint32) bool {
			b := s.build()
			var in Info
			if r := Parse(b, &in); r != OK {
				t.Fatal(r)
			}
			continues, accECN := singles.Next(b, &in, flow)
			if accECN {
				t.Errorf("%s: taken for AccECN", c.name)
			}
			return continues
		}
		if see(first, 1) {
			t.Errorf("%s: the first continues something", c.name)
		}
		s := first
		s.seq += uint32(len(s.payload))
		c.change(&s)
		if got := see(s, c.flow); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A short segment ends a super-frame, and so does Reset.
func TestSinglesEnd(t *testing.T) {
	var singles Singles
	seq := uint32(0)
	next := func(n int) (continues, accECN bool) {
		b := spec{flags: tcpACK, seq: seq, payload: make([]byte, n)}.build()
		b[20+tcpDataOffset] |= tcpAE
		seq += uint32(n)
		var in Info
		if r := Parse(b, &in); r != OK {
			t.Fatal(r)
		}
		return singles.Next(b, &in, 1)
	}
	for i, c := range []struct {
		bytes int
		want  bool
	}{{1000, false}, {1000, true}, {100, true}, {100, false}, {1000, false}, {900, true}} {
		continues, accECN := next(c.bytes)
		if continues != c.want || !accECN {
			t.Errorf("packet %d: %v, AccECN %v", i, continues, accECN)
		}
	}
	singles.Reset()
	if continues, _ := next(900); continues {
		t.Error("it continues a packet from before the pause")
	}
}

// A packet that Segment and Complete produced needs no offload.
func TestCompletePacketsNeedNoOffload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		f := s.frame(rapid.IntRange(1, 2000).Draw(t, "size"))
		in := parseRapid(t, f.Data)
		i := rapid.IntRange(0, Count(&in, f.Facts)-1).Draw(t, "i")
		got := make([]byte, SegmentLen(&in, f.Facts, i))
		Segment(got, f.Data, &in, f.Facts, i)
		Complete(got, &in)
		part := parseRapid(t, got)
		if r := Validate(got, &part, &frame.Facts{}); r != OK {
			t.Fatal(r)
		}
		l4 := got[part.HeaderLen:]
		if sum := fold16(sum(l4, uint64(pseudoSum(got, &part, len(l4))))); sum != 0xffff {
			t.Fatalf("the checksum of %x is wrong: %04x", got, sum)
		}
	})
}
