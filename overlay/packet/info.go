package packet

import (
	"encoding/binary"
	"net/netip"
)

// These constants are the protocol numbers that the parser handles (IANA protocol-numbers
// registry).
const (
	ProtoHopByHop     = 0
	ProtoICMP         = 1
	ProtoTCP          = 6
	ProtoUDP          = 17
	ProtoDCCP         = 33
	ProtoRouting      = 43
	ProtoFragment     = 44
	ProtoAH           = 51
	ProtoICMPv6       = 58
	ProtoDestination  = 60
	ProtoSCTP         = 132
	ProtoMobility     = 135
	ProtoUDPLite      = 136
	ProtoHIP          = 139
	ProtoShim6        = 140
	icmpEchoReply     = 0
	icmpEchoRequest   = 8
	icmpv6EchoRequest = 128
	icmpv6EchoReply   = 129
)

const (
	// maxExtensions bounds the number of IPv6 extension headers that are parsed. RFC 8200 section
	// 4.1 names seven kinds of extension headers and allows one of them twice.
	maxExtensions = 8

	ipv4HeaderLen   = 20
	ipv6HeaderLen   = 40
	tcpHeaderLen    = 20
	udpHeaderLen    = 8
	extensionLen    = 8 // shortest IPv6 extension header, RFC 8200 section 4
	tcpCSumOffset   = 16
	udpCSumOffset   = 6
	tcpFlagsOffset  = 13
	tcpDataOffset   = 12
	ipv4CSumOffset  = 10
	ipv4TotalOffset = 2
)

// Info describes the headers of one inner packet. It also describes a super-frame, whose headers
// apply to all its segments.
type Info struct {
	Version  uint8 // 4 or 6
	Proto    uint8 // the upper-layer protocol, after all extension headers
	ECN      uint8 // RFC 3168: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE
	Fragment bool  // part of a fragmented packet, or carries a fragment header
	Routed   bool  // an IPv6 routing header has segments left, so Dst is not the final destination

	Src, Dst netip.Addr

	// SrcPort and DstPort are zero for fragments and for protocols without ports. For an ICMP echo,
	// SrcPort is the identifier.
	SrcPort, DstPort uint16

	HeaderLen   int // IP header with all extension headers, bytes
	L4HeaderLen int // TCP or UDP header, bytes; 0 when it is absent or malformed
	TotalLen    int // the whole packet, bytes

	// CSumStart is the offset of the first byte that the transport checksum covers, and CSumOffset
	// the distance from there to the checksum field. CSumStart and CSumOffset are in bytes, and 0
	// unless the packet is TCP or UDP.
	CSumStart, CSumOffset int
}

// Parse writes a description of the inner packet b into `out`. The slice b must contain exactly
// one packet. The description is valid only if Parse returns OK.
func Parse(b []byte, out *Info) Reason {
	if len(b) == 0 {
		return Truncated
	}
	var r Reason
	switch b[0] >> 4 {
	case 4:
		r = out.parse4(b)
	case 6:
		r = out.parse6(b)
	default:
		r = BadVersion
	}
	if r != OK {
		return r
	}
	if !out.Fragment {
		out.parseTransport(b[out.HeaderLen:])
	}
	return OK
}

// Dst returns the destination address of a packet that Parse accepted.
func Dst(b []byte) netip.Addr {
	if b[0]>>4 == 4 {
		return netip.AddrFrom4([4]byte(b[16:20]))
	}
	return netip.AddrFrom16([16]byte(b[24:40]))
}

// IsTCP reports whether b, which may be arbitrary bytes, begins with a TCP packet or with a
// tunnel's packet that contains TCP. IsTCP does not skip IPv6 extension headers.
func IsTCP(b []byte) bool {
	proto, rest := upper(b)
	if proto == ProtoTCP {
		return true
	}
	inner, _ := tunnelled(proto, rest)
	proto, _ = upper(inner)
	return proto == ProtoTCP
}

// IsPureAck reports whether b, which may be arbitrary bytes, is a TCP packet without payload that
// only acknowledges. IsPureAck does not skip IPv6 extension headers.
func IsPureAck(b []byte) bool {
	proto, tcp := upper(b)
	if proto != ProtoTCP || len(tcp) < tcpHeaderLen || len(tcp) > int(tcp[tcpDataOffset]>>4)*4 {
		return false
	}
	return tcp[tcpFlagsOffset]&tcpControl == tcpACK
}

// upper returns the bytes after the first IP header of b, and their protocol number. If b is not an
// IP packet, upper() returns 0 and nil. The slice b may contain arbitrary bytes.
func upper(b []byte) (proto uint8, rest []byte) {
	switch {
	case len(b) >= ipv4HeaderLen && b[0]>>4 == 4:
		return b[9], b[min(int(b[0]&0xf)*4, len(b)):]
	case len(b) >= ipv6HeaderLen && b[0]>>4 == 6:
		return b[6], b[ipv6HeaderLen:]
	}
	return 0, nil
}

// Src returns the source address of a packet that Parse accepted.
func Src(b []byte) netip.Addr {
	if b[0]>>4 == 4 {
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return netip.AddrFrom16([16]byte(b[8:24]))
}

func (in *Info) parse4(b []byte) Reason {
	if len(b) < ipv4HeaderLen {
		return Truncated
	}
	header := int(b[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(b[ipv4TotalOffset:]))
	switch {
	case header < ipv4HeaderLen:
		return BadHeaderLen
	case header > len(b):
		return Truncated
	case total != len(b):
		return BadLength
	}
	const moreFragmentsAndOffset = 0x3fff
	*in = Info{
		Version:   4,
		Proto:     b[9],
		ECN:       b[1] & ecnMask,
		Fragment:  binary.BigEndian.Uint16(b[6:])&moreFragmentsAndOffset != 0,
		Src:       Src(b),
		Dst:       Dst(b),
		HeaderLen: header,
		TotalLen:  total,
	}
	return OK
}

// parse6 reads an IPv6 header (RFC 8200 section 3) and its extension headers. For a jumbogram
// (payload length zero), which is longer than MaxLen, parse6 returns BadLength.
func (in *Info) parse6(b []byte) Reason {
	if len(b) < ipv6HeaderLen {
		return Truncated
	}
	total := ipv6HeaderLen + int(binary.BigEndian.Uint16(b[4:]))
	if total != len(b) {
		return BadLength
	}
	*in = Info{
		Version:   6,
		Proto:     b[6],
		ECN:       b[1] >> 4 & ecnMask,
		Src:       Src(b),
		Dst:       Dst(b),
		HeaderLen: ipv6HeaderLen,
		TotalLen:  total,
	}
	return in.walkExtensions(b)
}

// walkExtensions advances HeaderLen and Proto past the extension headers. The method
// walkExtensions stops at a fragment header, because all fragments must have the same flow key,
// but only the first has the further headers.
func (in *Info) walkExtensions(b []byte) Reason {
	for n := 0; isExtension(in.Proto); n++ {
		if n == maxExtensions {
			return TooManyExtensions
		}
		h := b[in.HeaderLen:]
		if len(h) < extensionLen {
			return Truncated
		}
		length := extensionLen + int(h[1])*8
		switch in.Proto {
		case ProtoFragment:
			length = extensionLen
			in.Fragment = true
		case ProtoAH:
			length = (int(h[1]) + 2) * 4 // RFC 4302 section 2.2
		case ProtoRouting:
			in.Routed = in.Routed || h[3] != 0
		}
		if length > len(h) {
			return Truncated
		}
		in.Proto = h[0]
		in.HeaderLen += length
		if in.Fragment {
			return OK
		}
	}
	return OK
}

func isExtension(proto uint8) bool {
	switch proto {
	case ProtoHopByHop, ProtoRouting, ProtoFragment, ProtoAH, ProtoDestination, ProtoMobility, ProtoHIP, ProtoShim6:
		return true
	}
	return false
}

// parseTransport reads the ports and the length of the transport header. If the transport header is
// short or malformed, the packet gets no ports and no offload. It is still carried, and the
// receiving host decides about it.
func (in *Info) parseTransport(l4 []byte) {
	switch in.Proto {
	case ProtoTCP:
		in.parsePorts(l4)
		in.CSumStart, in.CSumOffset = in.HeaderLen, tcpCSumOffset
		if len(l4) >= tcpHeaderLen {
			if n := int(l4[tcpDataOffset]>>4) * 4; n >= tcpHeaderLen && n <= len(l4) {
				in.L4HeaderLen = n
			}
		}
	case ProtoUDP:
		in.parsePorts(l4)
		in.CSumStart, in.CSumOffset = in.HeaderLen, udpCSumOffset
		if len(l4) >= udpHeaderLen {
			in.L4HeaderLen = udpHeaderLen
		}
	case ProtoSCTP, ProtoDCCP, ProtoUDPLite:
		in.parsePorts(l4)
	case ProtoICMP:
		in.parseEcho(l4, icmpEchoRequest, icmpEchoReply)
	case ProtoICMPv6:
		in.parseEcho(l4, icmpv6EchoRequest, icmpv6EchoReply)
	}
}

func (in *Info) parsePorts(l4 []byte) {
	if len(l4) >= 4 {
		in.SrcPort = binary.BigEndian.Uint16(l4)
		in.DstPort = binary.BigEndian.Uint16(l4[2:])
	}
}

// parseEcho uses the identifier of an echo message as its port, so that two runs of ping are two
// flows.
func (in *Info) parseEcho(l4 []byte, request, reply uint8) {
	if len(l4) >= 8 && (l4[0] == request || l4[0] == reply) {
		in.SrcPort = binary.BigEndian.Uint16(l4[4:])
	}
}
