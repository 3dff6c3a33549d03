package packet

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"pgregory.net/rapid"
)

// cut returns all segments of a super-frame as separate packets. Packet i has a complete checksum
// if complete(i) returns true.
func (s spec) cut(f *frame.Frame, complete func(i int) bool) (parts []*frame.Frame) {
	var in Info
	Parse(f.Data, &in)
	for i := range segments(&in, f.Facts) {
		p := frame.New(make([]byte, SegmentLen(&in, f.Facts, i)), nil)
		Segment(p.Data, f.Data, &in, f.Facts, i)
		p.Facts.CSum = !complete(i)
		if !p.Facts.CSum {
			completeChecksum(p.Data, in.CSumStart, in.CSumOffset)
		}
		parts = append(parts, p)
	}
	return parts
}

// Join restores exactly the frames that Segment has cut.
func TestJoinReversesSegment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.flags = tcpACK | s.flags&tcpPSH
		size := rapid.IntRange(1, len(s.payload)).Draw(t, "size")
		whole := s.frame(size)
		complete := rapid.SliceOfN(rapid.Bool(), 7, 7).Draw(t, "complete")
		parts := s.cut(whole, func(i int) bool { return complete[i%len(complete)] })

		first := parseRapid(t, parts[0].Data)
		n := 0
		for i, p := range parts {
			in := parseRapid(t, p.Data)
			if kind, ok := Joinable(p.Data, &in, p.Facts); !ok || kind != s.gso() {
				t.Fatalf("part %d of %d: joinable %v, kind %v", i, len(parts), ok, kind)
			}
			if i > 0 && !Follows(parts[0].Data, &first, n, p.Data, &in) {
				t.Fatalf("part %d of %d does not follow", i, len(parts))
			}
			if last := i == len(parts)-1; Pushed(p.Data, &in) != (last && !s.udp && s.flags&tcpPSH != 0) {
				t.Fatalf("part %d of %d: pushed %v", i, len(parts), !last)
			}
			n += in.Payload()
		}
		got := bytes.Repeat([]byte{0xa5}, len(whole.Data))
		Join(got, parts, &first)
		if !bytes.Equal(got, whole.Data) {
			t.Fatalf("%d parts\ngot  %x\nwant %x", len(parts), got, whole.Data)
		}
	})
}

// field describes a field of a header, and which bits of each of its bytes may differ between
// packets that are joined.
type field struct {
	name     string
	from, to int
	free     byte
}

var ipv4Fields = []field{
	{"version, header length", 0, 1, 0}, {"traffic class, ECN", 1, 2, 0}, {"total length", 2, 4, 0},
	{"identification", 4, 6, 0xff}, {"flags, fragment offset", 6, 8, 0}, {"TTL", 8, 9, 0}, {"protocol", 9, 10, 0},
	{"header checksum", 10, 12, 0}, {"source", 12, 16, 0}, {"destination", 16, 20, 0},
}

var ipv6Fields = []field{
	{"version, traffic class, flow label", 0, 4, 0}, {"payload length", 4, 6, 0}, {"next header", 6, 7, 0},
	{"hop limit", 7, 8, 0}, {"source", 8, 24, 0}, {"destination", 24, 40, 0},
}

// The partial checksum may differ, because Join always overwrites it.
var tcpFields = []field{
	{"ports", 0, 4, 0}, {"sequence number", 4, 8, 0}, {"acknowledgement", 8, 12, 0}, {"data offset, reserved", 12, 13, 0},
	{"flags", 13, 14, tcpPSH}, {"window", 14, 16, 0}, {"checksum", 16, 18, 0xff}, {"urgent pointer", 18, 20, 0}, {"options", 20, 32, 0},
}

var udpFields = []field{{"ports", 0, 4, 0}, {"length", 4, 6, 0}, {"checksum", 6, 8, 0xff}}

// If any single bit of the second packet's headers is changed, the packets are not joined. Bits
// that may differ are the exception. The IPv4 header checksum is correct for the changed header.
func TestFollowsRefusesEachChangedBit(t *testing.T) {
	for _, s := range []spec{
		{options: 12}, {v6: true, options: 12, ecn: 2}, {udp: true, ecn: 1}, {udp: true, v6: true},
	} {
		s.flags, s.payload = tcpACK, bytesUpTo(2000)
		parts := s.cut(s.frame(1000), func(int) bool { return false })
		a, b := parts[0], parts[1]
		ai, bi := parse(t, a.Data), parse(t, b.Data)
		joined := func() bool {
			if Parse(b.Data, &bi) != OK {
				return false
			}
			_, ok := Joinable(b.Data, &bi, b.Facts)
			return ok && Follows(a.Data, &ai, 1000, b.Data, &bi)
		}
		if !joined() {
			t.Fatalf("%+v: the unchanged packet does not follow", s)
		}
		headers, good := ai.HeaderLen+ai.L4HeaderLen, bytes.Clone(b.Data)
		for bit := range headers * 8 {
			at, mask := bit/8, byte(1)<<(bit%8)
			b.Data[at] ^= mask
			f := s.fieldOf(at)
			if !s.v6 && f.name != "header checksum" {
				writeHeaderChecksum(b.Data, ipv4HeaderLen)
			}
			if got, want := joined(), f.free&mask != 0; got != want {
				t.Errorf("v6 %v udp %v: %s, byte %d bit %#x changed: joined %v, want %v", s.v6, s.udp, f.name, at, mask, got, want)
			}
			copy(b.Data, good)
		}
	}
}

// fieldOf returns the field that contains the byte with the index `at` of the packet.
func (s spec) fieldOf(at int) field {
	fields, l4 := ipv4Fields, tcpFields
	header := ipv4HeaderLen
	if s.v6 {
		fields, header = ipv6Fields, ipv6HeaderLen
	}
	if s.udp {
		l4 = udpFields
	}
	if at >= header {
		fields, at = l4, at-header
	}
	for _, f := range fields {
		if at >= f.from && at < f.to {
			return f
		}
	}
	panic("no field there")
}

// Joinable refuses these packets by themselves, without a comparison with another packet.
func TestNotJoinable(t *testing.T) {
	v6 := spec{v6: true, flags: tcpACK, payload: bytesUpTo(40)}.build()
	tcp, udp := spec{flags: tcpACK, payload: bytesUpTo(41)}, spec{udp: true, payload: bytesUpTo(41)}
	empty, emptyUDP := tcp, udp
	empty.payload, emptyUDP.payload = nil, nil
	change := func(s spec, at int, to byte) []byte {
		b := s.build()
		b[at] = to
		writeHeaderChecksum(b, ipv4HeaderLen)
		return b
	}
	last := len(tcp.build()) - 1
	for name, c := range map[string]struct {
		b     []byte
		facts frame.Facts
	}{
		"TCP without data":                 {b: empty.build()},
		"UDP without data":                 {b: emptyUDP.build()},
		"TCP payload corrupted":            {b: change(tcp, last, 0xee)},
		"TCP checksum zero":                {b: change(tcp, 20+tcpCSumOffset, 0)},
		"UDP payload corrupted":            {b: change(udp, 40, 0xee)},
		"IPv4 header corrupted":            {b: func() []byte { b := tcp.build(); b[8]--; return b }()},
		"IPv4 header of a partial":         {b: func() []byte { b := udp.build(); b[8]--; return b }(), facts: frame.Facts{CSum: true}},
		"may be fragmented":                {b: change(tcp, 6, 0)},
		"reserved flag":                    {b: change(tcp, 6, 0xc0)},
		"first fragment":                   {b: change(udp, 6, 0x20)},
		"later fragment":                   {b: change(udp, 7, 1)},
		"UDP length short":                 {b: change(udp, 25, 48), facts: frame.Facts{CSum: true}},
		"extension header":                 {b: extend(v6, []byte{ProtoHopByHop}, make([]byte, 8)), facts: frame.Facts{CSum: true}},
		"super-frame":                      {b: tcp.build(), facts: frame.Facts{GSO: frame.GSOTCP4, GSOSize: 20, CSum: true}},
		"segment size without segments":    {b: tcp.build(), facts: frame.Facts{GSOSize: 20}},
		"SYN":                              {b: spec{flags: 0x02, payload: bytesUpTo(9)}.build()},
		"SYN, ACK":                         {b: spec{flags: 0x12, payload: bytesUpTo(9)}.build()},
		"FIN":                              {b: spec{flags: tcpACK | tcpFIN, payload: bytesUpTo(9)}.build()},
		"RST":                              {b: spec{flags: 0x14, payload: bytesUpTo(9)}.build()},
		"URG":                              {b: spec{flags: 0x30, payload: bytesUpTo(9)}.build()},
		"ECE":                              {b: spec{flags: 0x50, payload: bytesUpTo(9)}.build()},
		"CWR":                              {b: spec{flags: tcpACK | tcpCWR, payload: bytesUpTo(9)}.build()},
		"no ACK":                           {b: spec{payload: bytesUpTo(9)}.build()},
		"urgent pointer without its flag":  {b: change(tcp, 20+tcpUrgOffset+1, 1), facts: frame.Facts{CSum: true}},
		"UDP without checksum over IPv4":   {b: func() []byte { b := udp.build(); b[26], b[27] = 0, 0; return b }()},
		"UDP without checksum, as partial": {b: func() []byte { b := udp.build(); b[26], b[27] = 0, 0; return b }(), facts: frame.Facts{CSum: true}},
	} {
		in := parse(t, c.b)
		if kind, ok := Joinable(c.b, &in, c.facts); ok {
			t.Errorf("%s: joinable as %v", name, kind)
		}
	}
}

// FuzzJoin takes two packets of a peer. If they are joined, the result must be valid, and must be
// cut into the same two packets again. Only the IPv4 identification of the second packet may
// differ.
func FuzzJoin(f *testing.F) {
	for _, s := range []spec{{flags: tcpACK, options: 12}, {flags: tcpACK, v6: true}, {udp: true}, {udp: true, v6: true}} {
		for _, n := range []int{2, 90, 2000} {
			s.payload = bytesUpTo(n)
			parts := s.cut(s.frame((n+1)/2), func(int) bool { return true })
			f.Add(parts[0].Data, parts[1].Data, false, false)
			f.Add(parts[0].Data, parts[1].Data, true, false)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte, partialA, partialB bool) {
		facts := []frame.Facts{{CSum: partialA}, {CSum: partialB}}
		parts := []*frame.Frame{frame.New(bytes.Clone(a), nil), frame.New(bytes.Clone(b), nil)}
		var in [2]Info
		var kind [2]frame.GSO
		for i, p := range parts {
			if Parse(p.Data, &in[i]) != OK {
				return
			}
			var ok bool
			if kind[i], ok = Joinable(p.Data, &in[i], facts[i]); !ok {
				return
			}
		}
		size := in[0].Payload()
		length := in[0].TotalLen + in[1].Payload()
		if !Follows(a, &in[0], size, b, &in[1]) || in[1].Payload() > size || Pushed(a, &in[0]) || length > MaxLen {
			return
		}
		if kind[0] != kind[1] || !SameFlow(&in[0], &in[1]) {
			t.Fatalf("kinds %v, flows %+v and %+v", kind, in[0], in[1])
		}
		joined := make([]byte, length)
		Join(joined, parts, &in[0])
		whole := frame.Facts{GSO: kind[0], GSOSize: uint16(size), CSum: true}
		var ji Info
		if r := Parse(joined, &ji); r != OK {
			t.Fatalf("joined: %v", r)
		}
		if r := ValidateJoined(joined, &ji, &whole); r != OK || segments(&ji, whole) != 2 {
			t.Fatalf("joined: %v, %d segments", r, segments(&ji, whole))
		}
		for i, p := range parts {
			got := make([]byte, SegmentLen(&ji, whole, i))
			Segment(got, joined, &ji, whole, i)
			if want := normal(p.Data, &in[i], i > 0); !bytes.Equal(normal(got, &in[i], i > 0), want) {
				t.Fatalf("part %d\ngot  %x\nwant %x", i, got, want)
			}
		}
	})
}

// normal returns the packet with a partial checksum, because a complete checksum of zero has two
// representations. If noID is set, normal clears the IPv4 identification.
func normal(b []byte, in *Info, noID bool) []byte {
	b = bytes.Clone(b)
	writePartial(b, in)
	if in.Version == 4 {
		if noID {
			b[ipv4IDOffset], b[ipv4IDOffset+1] = 0, 0
		}
		writeHeaderChecksum(b, in.HeaderLen)
	}
	return b
}
