package packet

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/overlay/packet/packettest"
)

// answerTo returns the ICMP error for b, or nil if no error is sent.
func answerTo(t *testing.T, b []byte) []byte {
	t.Helper()
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatalf("Parse: %v", r)
	}
	n := UnreachableLen(b, &in)
	if n == 0 {
		return nil
	}
	out := bytes.Repeat([]byte{0xaa}, n) // old bytes, as in a buffer from a pool
	PutUnreachable(out, b, &in)
	return out
}

// wantAnswer checks, as a host would, that `out` is a valid ICMP error about b.
func wantAnswer(t *testing.T, out, b []byte) {
	t.Helper()
	var in, of Info
	if Parse(out, &in) != OK || Parse(b, &of) != OK {
		t.Fatalf("the answer is no packet: %x", out)
	}
	icmp, pseudo, most := out[in.HeaderLen:], []byte(nil), 576
	kind, code, proto := uint8(3), uint8(1), uint8(ProtoICMP)
	if in.Version == 6 {
		kind, code, proto, most = 1, 3, ProtoICMPv6, 1280
		pseudo = append(pseudo, out[8:40]...)
		pseudo = append(binary.BigEndian.AppendUint32(pseudo, uint32(len(icmp))), 0, 0, 0, ProtoICMPv6)
	} else if packettest.Sum(out[:20]) != 0xffff {
		t.Errorf("checksum of the header: %x", out[:20])
	}
	quote := icmp[8:]
	switch {
	case in.Src != of.Dst, in.Dst != of.Src, in.Version != of.Version, in.Proto != proto, in.Fragment:
		t.Errorf("header %+v for %+v", in, of)
	case icmp[0] != kind, icmp[1] != code, !bytes.Equal(icmp[4:8], make([]byte, 4)):
		t.Errorf("ICMP header %x", icmp[:8])
	case packettest.Sum(append(pseudo, icmp...)) != 0xffff:
		t.Error("checksum of the message")
	case len(out) > most, !bytes.Equal(quote, b[:len(quote)]), len(quote) < len(b) && len(out) != most:
		t.Errorf("%d bytes quote %d of %d", len(out), len(quote), len(b))
	}
}

func icmpPacket(v6 bool, kind uint8) []byte {
	b := spec{v6: v6, udp: true, payload: make([]byte, 8)}.build()
	if v6 {
		b[6], b[40] = ProtoICMPv6, kind
	} else {
		b[9], b[20] = ProtoICMP, kind
	}
	return b
}

func withAddr(b []byte, at int, a string) []byte {
	b = bytes.Clone(b)
	copy(b[at:], netip.MustParseAddr(a).AsSlice())
	return b
}

func TestUnreachableAnswers(t *testing.T) {
	for name, b := range map[string][]byte{
		"a SYN":              spec{options: 20}.build(),
		"a datagram":         spec{udp: true, payload: bytesUpTo(30)}.build(),
		"an odd length":      spec{udp: true, payload: bytesUpTo(31)}.build(),
		"a long one":         spec{udp: true, payload: bytesUpTo(1400)}.build(),
		"IPv6":               spec{v6: true, options: 20}.build(),
		"a long one of IPv6": spec{v6: true, udp: true, payload: bytesUpTo(1400)}.build(),
		"ping":               icmpPacket(false, icmpEchoRequest),
		"ping of IPv6":       icmpPacket(true, icmpv6EchoRequest),
		"a first fragment":   firstFragment(),
		"one of IPv6":        fragment6(ProtoUDP, 1),
		"class E":            withAddr(spec{}.build(), 12, "240.1.2.3"), // a tunnel may use such addresses
	} {
		t.Run(name, func(t *testing.T) {
			out := answerTo(t, b)
			if out == nil {
				t.Fatal("no answer")
			}
			wantAnswer(t, out, b)
			if answerTo(t, out) != nil {
				t.Error("the answer is answered")
			}
		})
	}
}

func firstFragment() []byte {
	b := spec{udp: true, payload: bytesUpTo(40)}.build()
	b[6] = 0x20 // more fragments
	return b
}

// fragment6 returns an IPv6 fragment with the given offset and flags.
func fragment6(proto uint8, offset uint16) []byte {
	b := extend(spec{v6: true, udp: true, payload: bytesUpTo(40)}.build(), []byte{ProtoFragment}, make([]byte, 8))
	b[40] = proto
	binary.BigEndian.PutUint16(b[42:], offset)
	return b
}

func TestUnreachableIsSilent(t *testing.T) {
	tcp4, tcp6 := spec{}.build(), spec{v6: true}.build()
	later := firstFragment()
	later[7] = 1
	for name, b := range map[string][]byte{
		"multicast":                          withAddr(tcp4, 16, "224.0.0.5"),
		"broadcast":                          withAddr(tcp4, 16, "255.255.255.255"),
		"multicast of IPv6":                  withAddr(tcp6, 24, "ff02::2"),
		"no source":                          withAddr(tcp4, 12, "0.0.0.0"),
		"source loopback":                    withAddr(tcp4, 12, "127.0.0.1"),
		"source multicast":                   withAddr(tcp4, 12, "239.1.1.1"),
		"source broadcast":                   withAddr(tcp4, 12, "255.255.255.255"),
		"no source of IPv6":                  withAddr(tcp6, 8, "::"),
		"source loopback of IPv6":            withAddr(tcp6, 8, "::1"),
		"source multicast of IPv6":           withAddr(tcp6, 8, "ff02::1"),
		"source is destination":              withAddr(withAddr(tcp4, 12, "192.0.2.9"), 16, "192.0.2.9"),
		"source is destination of IPv6":      withAddr(withAddr(tcp6, 8, "2001:db8::9"), 24, "2001:db8::9"),
		"source mapped":                      withAddr(tcp6, 8, "::ffff:10.0.0.1"),
		"an unreachable":                     icmpPacket(false, 3),
		"source quench":                      icmpPacket(false, 4),
		"redirect":                           icmpPacket(false, 5),
		"time exceeded":                      icmpPacket(false, 11),
		"parameter problem":                  icmpPacket(false, 12),
		"an unknown type":                    icmpPacket(false, 200),
		"unreachable of IPv6":                icmpPacket(true, 1),
		"packet too big":                     icmpPacket(true, 2),
		"redirect of IPv6":                   icmpPacket(true, 137),
		"a later fragment":                   later,
		"one of IPv6":                        fragment6(ProtoUDP, 8<<3),
		"a fragmented error":                 fragment6(ProtoICMPv6, 1),
		"what stands behind fragment header": fragment6(ProtoDestination, 1),
		"ICMP without a type":                tcp4[:20:20],
	} {
		t.Run(name, func(t *testing.T) {
			if name == "ICMP without a type" {
				b = bytes.Clone(b)
				b[3], b[9] = 20, ProtoICMP
			}
			if out := answerTo(t, b); out != nil {
				t.Errorf("answered by %x", out)
			}
		})
	}
}

func TestUnreachableDoesNotAllocate(t *testing.T) {
	b := spec{v6: true, options: 20}.build()
	out := make([]byte, unreachable6Most)
	if n := testing.AllocsPerRun(100, func() {
		var in Info
		Parse(b, &in)
		PutUnreachable(out[:UnreachableLen(b, &in)], b, &in)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzUnreachable(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b) })
	for _, b := range [][]byte{icmpPacket(false, 3), icmpPacket(true, 1), icmpPacket(false, 8), fragment6(ProtoDestination, 0), firstFragment()} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var in Info
		if Parse(b, &in) != OK {
			return
		}
		before := bytes.Clone(b)
		out := answerTo(t, b)
		if !bytes.Equal(b, before) {
			t.Error("the packet was changed")
		}
		if out == nil {
			return
		}
		wantAnswer(t, out, b)
		if answerTo(t, out) != nil {
			t.Error("the answer is answered")
		}
	})
}
