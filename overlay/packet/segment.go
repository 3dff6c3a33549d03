package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// These constants are TCP flags (RFC 9293 section 3.1).
const (
	tcpFIN = 0x01
	tcpPSH = 0x08
	tcpCWR = 0x80
)

const (
	udpLenOffset = 4
	tcpSeqOffset = 4
	ipv4IDOffset = 4
)

// segments returns the number of packets in a super-frame, at least 1.
func segments(in *Info, facts frame.Facts) int {
	payload := in.TotalLen - in.HeaderLen - in.L4HeaderLen
	size := int(facts.GSOSize)
	if facts.GSO == frame.GSONone || size == 0 || payload <= size {
		return 1
	}
	return (payload + size - 1) / size
}

// Segments returns the number of packets into which a frame must be cut, or 1 if it is carried
// whole. Only a frame that no peer would accept whole is cut: its segments are shorter than
// MinSegment, or their number is above MaxSegments.
func Segments(in *Info, facts frame.Facts) int {
	n := segments(in, facts)
	if n > 1 && (facts.GSOSize < MinSegment || n > MaxSegments) {
		return n
	}
	return 1
}

// Count returns the number of packets in a frame, at least 1.
func Count(in *Info, facts frame.Facts) int { return segments(in, facts) }

// SegmentLen returns the length in bytes of segment i of the frame.
func SegmentLen(in *Info, facts frame.Facts, i int) int {
	headers, size := in.HeaderLen+in.L4HeaderLen, int(facts.GSOSize)
	return headers + min(size, in.TotalLen-headers-i*size)
}

// Segment writes packet i of the super-frame b into dst, which must have SegmentLen bytes. The
// segmented packet equals the one that the kernel's tcp_gso_segment or udp_gso_segment would make.
// The packet's checksum remains partial, so of the facts only CSum applies to the packet. The index
// i must be below the number of segments.
func Segment(dst, b []byte, in *Info, facts frame.Facts, i int) {
	headers, size := in.HeaderLen+in.L4HeaderLen, int(facts.GSOSize)
	copy(dst, b[:headers])
	copy(dst[headers:], b[headers+i*size:])
	part := *in
	if in.Proto == ProtoTCP {
		last := headers+(i+1)*size >= in.TotalLen
		seq := binary.BigEndian.Uint32(b[in.HeaderLen+tcpSeqOffset:])
		binary.BigEndian.PutUint32(dst[in.HeaderLen+tcpSeqOffset:], seq+uint32(i*size))
		flags := &dst[in.HeaderLen+tcpFlagsOffset]
		if !last {
			*flags &^= tcpFIN | tcpPSH
		}
		if i > 0 {
			*flags &^= tcpCWR
		}
	}
	if in.Version == 4 {
		id := binary.BigEndian.Uint16(b[ipv4IDOffset:])
		binary.BigEndian.PutUint16(dst[ipv4IDOffset:], id+uint16(i))
	}
	setLength(dst, &part, len(dst))
	if in.Version == 4 {
		writeHeaderChecksum(dst, in.HeaderLen)
	}
}

// DropLastSegment removes the last segment of a super-frame, and reports whether this was
// possible. DropLastSegment does not change a frame of one packet. With DropLastSegment, a queue
// can drop a single packet to signal congestion, instead of all packets of the frame.
// DropLastSegment also clears the flags FIN and PSH, because the last segment carried them. The
// caller must be the only owner of the frame f. DropLastSegment updates the IPv4 header checksum
// (RFC 1624) and the partial checksum.
func DropLastSegment(f *frame.Frame) bool {
	if f.Facts.GSO == frame.GSONone || !f.Facts.CSum {
		return false
	}
	var in Info
	if Parse(f.Data, &in) != OK {
		return false
	}
	if f.Facts.GSO.Tunnelled() {
		var t Tunnel
		return t.dropLast(f, &in)
	}
	if checkOffload(f.Data, &in, &f.Facts) != OK {
		return false
	}
	n := segments(&in, f.Facts)
	if n == 1 {
		return false
	}
	length := in.HeaderLen + in.L4HeaderLen + (n-1)*int(f.Facts.GSOSize)
	if in.Version == 4 {
		updateChecksum(f.Data[ipv4CSumOffset:], uint16(in.TotalLen), uint16(length))
	}
	f.Data = f.Data[:length]
	setLength(f.Data, &in, length)
	if in.Proto == ProtoTCP {
		f.Data[in.HeaderLen+tcpFlagsOffset] &^= tcpFIN | tcpPSH
	}
	if n == 2 {
		f.Facts.GSO, f.Facts.GSOSize = frame.GSONone, 0
	}
	return true
}

// setLength writes the length of the packet into the IP and UDP headers, and updates the
// pseudo-header sum. The function setLength does not update the IPv4 header checksum.
func setLength(b []byte, in *Info, length int) {
	in.setTotal(b, length)
	if in.Proto == ProtoUDP {
		binary.BigEndian.PutUint16(b[in.HeaderLen+udpLenOffset:], uint16(length-in.HeaderLen))
	}
	writePartial(b, in)
}

func (in *Info) setTotal(b []byte, length int) {
	in.TotalLen = length
	if in.Version == 4 {
		binary.BigEndian.PutUint16(b[ipv4TotalOffset:], uint16(length))
	} else {
		binary.BigEndian.PutUint16(b[4:], uint16(length-ipv6HeaderLen))
	}
}
