package packet

import (
	"bytes"
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// Joining makes a super-frame from consecutive packets that are written to the TUN device. It is
// the reverse of Segment. The kernel's equivalent is generic receive offload
// (net/ipv4/tcp_offload.c, udp_offload.c).

const (
	tcpACK          = 0x10
	tcpControl      = 0x3f // the TCP flags except those of ECN, RFC 9293 section 3.1
	tcpAckOffset    = 8
	tcpWindowOffset = 14
	tcpUrgOffset    = 18
	ipv4FlagsOffset = 6
	ipv4DontFrag    = 0x40
)

// Payload returns the number of bytes after the transport header of a packet.
func (in *Info) Payload() int { return in.TotalLen - in.HeaderLen - in.L4HeaderLen }

// Joinable reports whether the packet b, whose headers the argument `in` describes, can join a
// super-frame, and returns the frame's kind. Joinable accepts only plain TCP segments with data,
// and UDP datagrams. An IPv4 packet must have no options and must forbid fragmentation, because
// otherwise its identification would matter (RFC 6864 section 4). Joining replaces the checksums,
// so Joinable verifies them first: always that of the IPv4 header, and that of the transport unless
// it is partial. A packet that Validate would refuse is not joinable.
func Joinable(b []byte, in *Info, facts frame.Facts) (frame.GSO, bool) {
	if facts.GSO != frame.GSONone || facts.GSOSize != 0 || in.Fragment || in.Routed || in.L4HeaderLen == 0 || in.Payload() == 0 {
		return frame.GSONone, false
	}
	if in.Version == 4 && (in.HeaderLen != ipv4HeaderLen || b[ipv4FlagsOffset] != ipv4DontFrag ||
		fold16(sum(b[:ipv4HeaderLen], 0)) != 0xffff) ||
		in.Version == 6 && in.HeaderLen != ipv6HeaderLen {
		return frame.GSONone, false
	}
	l4 := b[in.HeaderLen:]
	kind := frame.GSOUDP
	switch in.Proto {
	case ProtoTCP:
		if l4[tcpFlagsOffset]&^tcpPSH != tcpACK || binary.BigEndian.Uint16(l4[tcpUrgOffset:]) != 0 {
			return frame.GSONone, false
		}
		if kind = frame.GSOTCP4; in.Version == 6 {
			kind = frame.GSOTCP6
		}
	case ProtoUDP:
		if int(binary.BigEndian.Uint16(l4[udpLenOffset:])) != len(l4) || binary.BigEndian.Uint16(l4[udpCSumOffset:]) == 0 {
			return frame.GSONone, false
		}
	default:
		return frame.GSONone, false
	}
	if !facts.CSum && fold16(sum(l4, uint64(pseudoSum(b, in, len(l4))))) != 0xffff {
		return frame.GSONone, false
	}
	return kind, true
}

// Follows reports whether b could be a later segment of a super-frame that begins with a. That is,
// segmentation would produce b as the packet whose payload begins n bytes after that of a. Both
// packets must be Joinable; Follows does not compare their lengths.
func Follows(a []byte, ai *Info, n int, b []byte, bi *Info) bool {
	if ai.Version != bi.Version || ai.Proto != bi.Proto || ai.L4HeaderLen != bi.L4HeaderLen || !sameIP(a, b, ai.Version) {
		return false
	}
	s, t := a[ai.HeaderLen:], b[bi.HeaderLen:]
	if !bytes.Equal(s[:4], t[:4]) { // ports
		return false
	}
	return ai.Proto == ProtoUDP ||
		binary.BigEndian.Uint32(t[tcpSeqOffset:]) == binary.BigEndian.Uint32(s[tcpSeqOffset:])+uint32(n) &&
			bytes.Equal(s[tcpAckOffset:tcpFlagsOffset], t[tcpAckOffset:tcpFlagsOffset]) &&
			bytes.Equal(s[tcpWindowOffset:tcpCSumOffset], t[tcpWindowOffset:tcpCSumOffset]) &&
			bytes.Equal(s[tcpHeaderLen:ai.L4HeaderLen], t[tcpHeaderLen:ai.L4HeaderLen])
}

// sameIP compares the IP header fields that must be equal in all segments of a frame. The total
// length, the IPv4 identification and the header checksum may differ. ECN marks must be equal
// too, so that no mark is lost or copied to other segments.
func sameIP(a, b []byte, version uint8) bool {
	if version == 4 {
		return bytes.Equal(a[:2], b[:2]) && bytes.Equal(a[6:10], b[6:10]) && bytes.Equal(a[12:20], b[12:20])
	}
	return bytes.Equal(a[:4], b[:4]) && bytes.Equal(a[6:40], b[6:40])
}

// Pushed reports whether the TCP packet b has the PSH flag, which ends a super-frame.
func Pushed(b []byte, in *Info) bool {
	return in.Proto == ProtoTCP && b[in.HeaderLen+tcpFlagsOffset]&tcpPSH != 0
}

// Join writes the super-frame of `parts` into dst, which must have the exact length of the
// headers and all payloads. The parameter `in` describes the headers of the first part, and each
// part must follow the previous one. The checksum of the super-frame is partial.
func Join(dst []byte, parts []*frame.Frame, in *Info) {
	join(dst, parts, in.HeaderLen+in.L4HeaderLen)
	finishJoin(dst, parts[len(parts)-1].Data, *in)
}

// join copies the first part as a whole, and the others without their headers.
func join(dst []byte, parts []*frame.Frame, headers int) {
	n := copy(dst, parts[0].Data)
	for _, f := range parts[1:] {
		n += copy(dst[n:], f.Data[headers:])
	}
}

// finishJoin changes the headers of the first packet, which the argument `in` describes, to the
// super-frame's headers. The parameter `last` is the last packet.
func finishJoin(dst, last []byte, in Info) {
	if in.Proto == ProtoTCP {
		dst[in.HeaderLen+tcpFlagsOffset] |= last[in.HeaderLen+tcpFlagsOffset] & tcpPSH
	}
	setLength(dst, &in, len(dst))
	if in.Version == 4 {
		writeHeaderChecksum(dst, in.HeaderLen)
	}
}
