package packet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// pieces returns the packets of a tunnelled super-frame.
func pieces(t testing.TB, f *frame.Frame) (parts []*frame.Frame) {
	t.Helper()
	var in Info
	var tn Tunnel
	if Parse(f.Data, &in) != OK || tn.Describe(f.Data, &in, &f.Facts) != OK {
		t.Fatal("no super-frame of a tunnel")
	}
	for i := range tn.Count(f.Facts) {
		p := frame.New(make([]byte, tn.SegmentLen(f.Facts, i)), nil)
		tn.Segment(p.Data, f.Data, &in, f.Facts, i)
		parts = append(parts, p)
	}
	return parts
}

// describe returns the Part that describes p, if p is joinable.
func describe(p *frame.Frame) (part Part, ok bool) {
	ok = Parse(p.Data, &part.Info) == OK && part.Joinable(p.Data, p.Facts, true)
	return part, ok
}

// fragmentable permits fragmentation of the outer IPv4 packets, as VXLAN does by default.
func fragmentable(f *frame.Frame) {
	if f.Data[0]>>4 == 4 {
		f.Data[ipv4FlagsOffset] = 0
		writeHeaderChecksum(f.Data, ipv4HeaderLen)
	}
}

// Packets that were cut from a tunnelled super-frame are joined to exactly the same super-frame,
// unless the kernel refuses such super-frames.
func TestPartsOfTunnels(t *testing.T) {
	const size = 1300
	every(func(s shell, inner spec) {
		for _, whole := range []bool{false, true} {
			want := s.carried(t, inner, size)
			if !whole {
				fragmentable(want)
			}
			parts := pieces(t, want)
			first, ok := describe(parts[0])
			if s.kind == "geneve3" {
				if ok && first.Kind.Tunnelled() {
					t.Errorf("%+v: the kernel wants room for an Ethernet header", s)
				}
				continue
			}
			n := 0
			for i, p := range parts {
				q, ok := describe(p)
				if !ok || q.Kind != want.Facts.GSO {
					t.Fatalf("%+v: part %d: joinable %v, kind %v", s, i, ok, q.Kind)
				}
				if i > 0 && !first.Follows(parts[0].Data, i, n, p.Data, &q) {
					t.Fatalf("%+v: part %d does not follow", s, i)
				}
				if last := i == len(parts)-1; q.Pushed(p.Data) != (last && !inner.udp) {
					t.Fatalf("%+v: part %d of %d: pushed %v", s, i, len(parts), !last)
				}
				n += q.Payload()
			}
			got := bytes.Repeat([]byte{0xa5}, len(want.Data))
			first.Join(got, parts)
			f := frame.New(got, nil)
			f.Facts = frame.Facts{GSO: first.Kind, GSOSize: size, CSum: true}
			if again := pieces(t, f); fmt.Sprint(texts(again)) != fmt.Sprint(texts(parts)) {
				t.Fatalf("%+v: cut again it is something else\ngot  %x\nwant %x", s, again[1].Data[:100], parts[1].Data[:100])
			}
		}
	})
}

func texts(v []*frame.Frame) (all []string) {
	for _, f := range v {
		all = append(all, string(f.Data))
	}
	return all
}

// If a single bit of a tunnel's packet is changed, it is not joined.
func TestNoFlippedBitIsJoined(t *testing.T) {
	every(func(s shell, inner spec) {
		inner.payload = inner.payload[:900]
		whole := s.carried(t, inner, 300)
		fragmentable(whole)
		parts := pieces(t, whole)
		first, ok := describe(parts[0])
		if !ok || !first.Kind.Tunnelled() {
			return
		}
		second := parts[1]
		for bit := range len(second.Data) * 8 {
			second.Data[bit/8] ^= 1 << (bit % 8)
			if q, ok := describe(second); ok && first.Follows(parts[0].Data, 1, first.Payload(), second.Data, &q) {
				t.Errorf("%+v: byte %d, bit %d", s, bit/8, bit%8)
			}
			second.Data[bit/8] ^= 1 << (bit % 8)
		}
	})
}

// If a tunnel's outer packets may be fragmented, joining preserves their identifications.
func TestPartsAreNumbered(t *testing.T) {
	whole := shell{kind: "vxlan"}.carried(t, spec{flags: tcpACK, payload: bytesUpTo(3000)}, 1000)
	for _, free := range []bool{true, false} {
		if !free {
			fragmentable(whole)
		}
		parts := pieces(t, whole)
		first, _ := describe(parts[0])
		parts[1].Data[ipv4IDOffset] ^= 0x55
		writeHeaderChecksum(parts[1].Data, ipv4HeaderLen)
		if q, ok := describe(parts[1]); !ok || first.Follows(parts[0].Data, 1, 1000, parts[1].Data, &q) != free {
			t.Errorf("may not be fragmented: %v; joinable %v, follows %v", free, ok, !free)
		}
	}
}

// FuzzPart takes two packets of a peer, inside a tunnel or not. If they are joined, the result must
// be valid, and must be cut into the same two packets again.
func FuzzPart(f *testing.F) {
	for _, s := range []shell{{kind: "vxlan"}, {kind: "vlan", sum: true}, {kind: "geneve", v6: true, sum: true}} {
		for _, inner := range []spec{{flags: tcpACK, payload: bytesUpTo(2000)}, {v6: true, flags: tcpACK, payload: bytesUpTo(2000)}, {udp: true, payload: bytesUpTo(2000)}} {
			whole := s.carried(f, inner, 1000)
			fragmentable(whole)
			parts := pieces(f, whole)
			f.Add(parts[0].Data, parts[1].Data)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		parts := []*frame.Frame{frame.New(a, nil), frame.New(b, nil)}
		p, ok := describe(parts[0])
		q, also := describe(parts[1])
		if !ok || !also || !p.Kind.Tunnelled() || q.Payload() > p.Payload() || p.Pushed(a) || len(a)+q.Payload() > MaxLen ||
			!SameFlow(&p.Info, &q.Info) || !p.Follows(a, 1, p.Payload(), b, &q) {
			return
		}
		joined := frame.New(make([]byte, len(a)+q.Payload()), nil)
		p.Join(joined.Data, parts)
		joined.Facts = frame.Facts{GSO: p.Kind, GSOSize: uint16(p.Payload()), CSum: true}
		for i, got := range pieces(t, joined) {
			var in Info
			Parse(got.Data, &in)
			want := parts[i].Data
			free := i > 0 && in.Version == 4 && want[ipv4FlagsOffset]&ipv4DontFrag != 0
			if g, w := bare(got.Data, p.Tunnel.At, &in, free), bare(want, p.Tunnel.At, &in, free); !bytes.Equal(g, w) {
				t.Fatalf("part %d\ngot  %x\nwant %x", i, g, w)
			}
		}
		var in Info
		var tn Tunnel
		facts := joined.Facts
		if Parse(joined.Data, &in) != OK || tn.ValidateJoined(joined.Data, &in, &facts) != OK || tn.Count(facts) != 2 {
			t.Fatalf("what was joined is not valid: %+v", facts)
		}
	})
}

// bare returns a tunnel's packet with partial checksums, because complete checksums of zero have
// two representations. If noID is set, bare clears the outer identification. It always clears the
// inner IPv4 identification, which has no meaning, because inner packets are joined only if they
// forbid fragmentation.
func bare(b []byte, at int, in *Info, noID bool) []byte {
	b = bytes.Clone(b)
	var inner Info
	Parse(b[at:], &inner)
	copy(b[at:], normal(b[at:], &inner, true))
	outer := b[in.CSumStart+in.CSumOffset:]
	summed := outer[0] != 0 || outer[1] != 0
	out := normal(b, in, noID)
	if !summed {
		clear(out[in.CSumStart+in.CSumOffset:][:2])
	}
	return out
}
