package packet

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"pgregory.net/rapid"
)

func drawSpec(t *rapid.T) spec {
	return spec{
		v6:      rapid.Bool().Draw(t, "v6"),
		udp:     rapid.Bool().Draw(t, "udp"),
		flags:   rapid.Byte().Draw(t, "flags"),
		seq:     rapid.Uint32().Draw(t, "seq"),
		id:      rapid.Uint16().Draw(t, "id"),
		options: 4 * rapid.IntRange(0, 10).Draw(t, "options"),
		ecn:     rapid.Byte().Draw(t, "ecn") & 3,
		payload: bytesUpTo(rapid.IntRange(1, 9000).Draw(t, "payload")),
	}
}

// part returns the description of segment i that Segment must produce from s.
func (s spec) part(i, size int) spec {
	last := (i+1)*size >= len(s.payload)
	p := s
	p.payload = s.payload[i*size : min((i+1)*size, len(s.payload))]
	p.seq += uint32(i * size)
	p.id += uint16(i)
	if !last {
		p.flags &^= tcpFIN | tcpPSH
	}
	if i > 0 {
		p.flags &^= tcpCWR
	}
	return p
}

func TestSegmentMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		size := rapid.IntRange(1, 2000).Draw(t, "size")
		f := s.frame(size)
		in := parseRapid(t, f.Data)
		n := segments(&in, f.Facts)
		if want := (len(s.payload) + size - 1) / size; n != want {
			t.Fatalf("%d segments, want %d", n, want)
		}
		i := rapid.IntRange(0, n-1).Draw(t, "i")
		got := make([]byte, SegmentLen(&in, f.Facts, i))
		Segment(got, f.Data, &in, f.Facts, i)
		p := s.part(i, size)
		p.partial = true
		if want := p.build(); !bytes.Equal(got, want) {
			t.Fatalf("segment %d of %d\ngot  %x\nwant %x", i, n, got, want)
		}
		// With its checksum completed, the segment must equal the packet that a host without
		// offload would have sent.
		part := parseRapid(t, got)
		completeChecksum(got, part.CSumStart, part.CSumOffset)
		p.partial = false
		if want := p.build(); !bytes.Equal(got, want) {
			t.Fatalf("completed segment %d of %d\ngot  %x\nwant %x", i, n, got, want)
		}
	})
}

func TestDropLastSegmentMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		size := rapid.IntRange(1, 3000).Draw(t, "size")
		f := s.frame(size)
		for left := (len(s.payload) + size - 1) / size; left > 1; left-- {
			if !DropLastSegment(f) {
				t.Fatalf("%d segments left and none dropped", left)
			}
			s.payload = s.payload[:(left-1)*size]
			s.flags &^= tcpFIN | tcpPSH
			if want := s.frame(size); !bytes.Equal(f.Data, want.Data) {
				t.Fatalf("%d left\ngot  %x\nwant %x", left-1, f.Data, want.Data)
			}
			if single := left == 2; single != (f.Facts.GSO == frame.GSONone) || single != (f.Facts.GSOSize == 0) || !f.Facts.CSum {
				t.Fatalf("%d left: facts %+v", left-1, f.Facts)
			}
		}
		before := bytes.Clone(f.Data)
		if DropLastSegment(f) || !bytes.Equal(before, f.Data) {
			t.Fatal("the last packet was dropped or changed")
		}
	})
}

// FIN follows the last byte of the stream. If FIN stayed although that byte was removed, the
// receiver would take an earlier byte for the end of the stream.
func TestDropLastSegmentTakesFIN(t *testing.T) {
	f := spec{flags: 0x19, payload: bytesUpTo(2500)}.frame(1000)
	if !DropLastSegment(f) {
		t.Fatal("nothing dropped")
	}
	if got := f.Data[20+tcpFlagsOffset]; got != 0x10 {
		t.Errorf("flags %#x, want ACK alone", got)
	}
}

func TestDropLastSegmentLeavesNonsense(t *testing.T) {
	f := spec{payload: bytesUpTo(2500)}.frame(1000)
	f.Facts.GSO = frame.GSOTCP6
	if DropLastSegment(f) {
		t.Error("dropped although kind and protocol disagree")
	}
	f = spec{payload: bytesUpTo(2500)}.frame(1000)
	f.Data = f.Data[:200]
	if DropLastSegment(f) {
		t.Error("dropped although the length is wrong")
	}
}

func TestSegmentsOnlyWhereNeeded(t *testing.T) {
	for _, c := range []struct {
		size, payload, want int
	}{{1448, 60000, 1}, {MinSegment, 60000, 1}, {MinSegment - 1, 60000, 122}, {100, 1000, 10}, {100, 100, 1}} {
		f := spec{payload: bytesUpTo(c.payload)}.frame(c.size)
		in := parse(t, f.Data)
		if got := Segments(&in, f.Facts); got != c.want {
			t.Errorf("size %d payload %d: %d, want %d", c.size, c.payload, got, c.want)
		}
	}
}

func parseRapid(t *rapid.T, b []byte) Info {
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatalf("Parse: %v", r)
	}
	return in
}
