package packet

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func parse(t testing.TB, b []byte) Info {
	t.Helper()
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatalf("Parse: %v", r)
	}
	return in
}

func TestParseTCP4(t *testing.T) {
	b := spec{options: 12, payload: bytesUpTo(100), ecn: 2}.build()
	in := parse(t, b)
	want := Info{Version: 4, Proto: ProtoTCP, ECN: 2, Src: netip.MustParseAddr("10.1.2.3"), Dst: netip.MustParseAddr("10.9.8.7"),
		SrcPort: 4321, DstPort: 80, HeaderLen: 20, L4HeaderLen: 32, TotalLen: 152, CSumStart: 20, CSumOffset: 16}
	if in != want {
		t.Errorf("got %+v\nwant %+v", in, want)
	}
	if Src(b) != want.Src || Dst(b) != want.Dst {
		t.Errorf("Src, Dst: %v %v", Src(b), Dst(b))
	}
}

func TestParseUDP6(t *testing.T) {
	b := spec{v6: true, udp: true, payload: bytesUpTo(9), ecn: 1}.build()
	in := parse(t, b)
	want := Info{Version: 6, Proto: ProtoUDP, ECN: 1, Src: netip.MustParseAddr("fd00::1:2"), Dst: netip.MustParseAddr("fd00:ffff::7"),
		SrcPort: 4321, DstPort: 80, HeaderLen: 40, L4HeaderLen: 8, TotalLen: 57, CSumStart: 40, CSumOffset: 6}
	if in != want {
		t.Errorf("got %+v\nwant %+v", in, want)
	}
	if Src(b) != want.Src || Dst(b) != want.Dst {
		t.Errorf("Src, Dst: %v %v", Src(b), Dst(b))
	}
}

// extend inserts extension headers before the upper-layer header of an IPv6 packet.
func extend(b []byte, kinds []byte, headers ...[]byte) []byte {
	out := append([]byte{}, b[:40]...)
	next := b[6]
	out[6] = kinds[0]
	for i, h := range headers {
		h = append([]byte{}, h...)
		h[0] = next
		if i+1 < len(kinds) {
			h[0] = kinds[i+1]
		}
		out = append(out, h...)
	}
	out = append(out, b[40:]...)
	binary.BigEndian.PutUint16(out[4:], uint16(len(out)-40))
	return out
}

func TestParseExtensions(t *testing.T) {
	b := spec{v6: true, payload: bytesUpTo(10)}.build()
	hop := make([]byte, 16)
	hop[1] = 1
	ah := make([]byte, 24)
	ah[1] = 4
	got := parse(t, extend(b, []byte{ProtoHopByHop, ProtoAH, ProtoDestination}, hop, ah, make([]byte, 8)))
	if got.Proto != ProtoTCP || got.HeaderLen != 40+16+24+8 || got.DstPort != 80 || got.L4HeaderLen != 20 || got.Fragment || got.Routed {
		t.Errorf("%+v", got)
	}
	plain := parse(t, b)
	if !SameFlow(&got, &plain) {
		t.Error("extension headers change the flow")
	}
	routing := make([]byte, 8)
	routing[3] = 1
	if got := parse(t, extend(b, []byte{ProtoRouting}, routing)); !got.Routed {
		t.Errorf("routing header not seen: %+v", got)
	}
}

func TestParseExtensionBound(t *testing.T) {
	b := spec{v6: true, payload: bytesUpTo(10)}.build()
	for n := 1; n <= maxExtensions+1; n++ {
		kinds := make([]byte, n)
		headers := make([][]byte, n)
		for i := range n {
			kinds[i], headers[i] = ProtoDestination, make([]byte, 8)
		}
		want := OK
		if n > maxExtensions {
			want = TooManyExtensions
		}
		var in Info
		if r := Parse(extend(b, kinds, headers...), &in); r != want {
			t.Errorf("%d extensions: %v, want %v", n, r, want)
		}
	}
}

func TestFragmentsShareAFlow(t *testing.T) {
	b := spec{udp: true, payload: bytesUpTo(100)}.build()
	whole := parse(t, b)
	first := append([]byte{}, b...)
	first[6] = 0x20 // more fragments
	later := append([]byte{}, b...)
	later[6], later[7] = 0, 13
	copy(later[20:24], "data")
	f, l := parse(t, first), parse(t, later)
	if !f.Fragment || !l.Fragment || !SameFlow(&f, &l) || f.SrcPort != 0 || l.L4HeaderLen != 0 || f.CSumOffset != 0 {
		t.Errorf("first %+v\nlater %+v", f, l)
	}
	if SameFlow(&f, &whole) {
		t.Error("a fragment has the flow of whole packets although it may not know the ports")
	}

	b = spec{v6: true, udp: true, payload: bytesUpTo(100)}.build()
	head := []byte{0, 0, 0, 1, 0, 0, 0, 9}
	tail := []byte{0, 0, 0, 104, 0, 0, 0, 9}
	// Parse does not read beyond the fragment header, because a later fragment has payload there.
	f = parse(t, extend(b, []byte{ProtoFragment}, head))
	l = parse(t, extend(b, []byte{ProtoFragment}, tail))
	if !f.Fragment || !SameFlow(&f, &l) || f.Proto != ProtoUDP || f.HeaderLen != 48 || f.SrcPort != 0 {
		t.Errorf("first %+v\nlater %+v", f, l)
	}
}

func TestEchoIdentifierIsThePort(t *testing.T) {
	b := spec{udp: true, payload: make([]byte, 8)}.build()
	b[9] = ProtoICMP
	copy(b[20:], []byte{8, 0, 0, 0, 0xab, 0xcd, 0, 1})
	if in := parse(t, b); in.SrcPort != 0xabcd || in.CSumOffset != 0 {
		t.Errorf("%+v", in)
	}
	b[20] = 3 // destination unreachable, which has no identifier
	if in := parse(t, b); in.SrcPort != 0 {
		t.Errorf("%+v", in)
	}
	b = spec{v6: true, udp: true, payload: make([]byte, 8)}.build()
	b[6] = ProtoICMPv6
	copy(b[40:], []byte{129, 0, 0, 0, 0xab, 0xcd, 0, 1})
	if in := parse(t, b); in.SrcPort != 0xabcd {
		t.Errorf("%+v", in)
	}
}

func TestParseRefuses(t *testing.T) {
	tcp4 := spec{payload: bytesUpTo(10)}.build
	edit := func(f func([]byte) []byte) []byte { return f(tcp4()) }
	for _, c := range []struct {
		name string
		b    []byte
		want Reason
	}{
		{"empty", nil, Truncated},
		{"version", edit(func(b []byte) []byte { b[0] = 0x55; return b }), BadVersion},
		{"header length", edit(func(b []byte) []byte { b[0] = 0x44; return b }), BadHeaderLen},
		{"header longer than data", edit(func(b []byte) []byte { b[0] = 0x4f; return b[:40] }), Truncated},
		{"trailing byte", edit(func(b []byte) []byte { return append(b, 0) }), BadLength},
		{"missing byte", edit(func(b []byte) []byte { return b[:len(b)-1] }), BadLength},
		{"v6 missing byte", spec{v6: true, payload: bytesUpTo(10)}.build()[:60], BadLength},
		{"v6 short", make([]byte, 39), BadVersion},
		{"v6 short header", append([]byte{0x60}, make([]byte, 38)...), Truncated},
	} {
		var in Info
		if r := Parse(c.b, &in); r != c.want {
			t.Errorf("%s: %v, want %v", c.name, r, c.want)
		}
	}
	long := extend(spec{v6: true}.build(), []byte{ProtoDestination}, []byte{0, 200, 0, 0, 0, 0, 0, 0})
	var in Info
	if r := Parse(long, &in); r != Truncated {
		t.Errorf("extension beyond the end: %v", r)
	}
}

// A packet with a malformed transport header is carried without ports and offload.
func TestBrokenTransportIsCarried(t *testing.T) {
	b := spec{payload: bytesUpTo(10)}.build()
	b[32] = 0x10 // a data offset of 4 bytes
	if in := parse(t, b); in.L4HeaderLen != 0 || in.SrcPort != 4321 {
		t.Errorf("%+v", in)
	}
	short := spec{}.build()[:23]
	binary.BigEndian.PutUint16(short[2:], 23)
	if in := parse(t, short); in.L4HeaderLen != 0 || in.SrcPort != 0 {
		t.Errorf("%+v", in)
	}
}

func TestReasonNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range NumReasons {
		s := Reason(r).String()
		if s == "" || seen[s] {
			t.Errorf("reason %d has the name %q", r, s)
		}
		seen[s] = true
	}
	if Reason(200).String() != "unknown" {
		t.Error("a reason out of range has a name")
	}
}

// A packet with data, or with a flag other than ACK, may be a request or a response.
func TestPureAcknowledgements(t *testing.T) {
	for what, c := range map[string]struct {
		s    spec
		want bool
	}{
		"acknowledgement":          {spec{flags: tcpACK}, true},
		"of IPv6":                  {spec{flags: tcpACK, v6: true}, true},
		"with options":             {spec{flags: tcpACK, options: 12}, true},
		"with an echo of a mark":   {spec{flags: tcpACK | tcpCWR>>1}, true},
		"data":                     {spec{flags: tcpACK, payload: bytesUpTo(1)}, false},
		"end of the connection":    {spec{flags: tcpACK | tcpFIN}, false},
		"start of the connection":  {spec{flags: 0x02}, false},
		"answer to the start":      {spec{flags: tcpACK | 0x02}, false},
		"reset":                    {spec{flags: tcpACK | 0x04}, false},
		"datagram without payload": {spec{udp: true}, false},
	} {
		if got := IsPureAck(c.s.build()); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	whole := spec{flags: tcpACK}.build()
	for n := range len(whole) {
		IsPureAck(whole[:n])
	}
	whole[32] = 0 // a header length of 0
	if IsPureAck(whole) {
		t.Error("a header of 0 bytes is no acknowledgement")
	}
}
