package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// A super-frame of a UDP tunnel also has the layout of one long packet:
//
//	| outer IP | UDP | tunnel header, Ethernet | inner IP | TCP or UDP | payload ...... |
//	0                                          At                        \ GSOSize \ ..
//
// Each packet of a super-frame gets a copy of all headers before the payload. The outer UDP
// length follows from the frame's length, so until the frame is written the outer length field
// contains At. If the outer packets have no checksum, the outer checksum field is zero. The
// inner checksum of the frame is partial.

const (
	// maxTunnelHeader bounds the number of bytes between the outer UDP header and the inner IP
	// header. The longest case is Geneve with all its options (RFC 8926 section 3.4), followed by
	// an Ethernet header with a VLAN tag.
	maxTunnelHeader = geneveHeaderLen + 63*4 + etherHeaderLen + vlanTagLen

	// tunAsEthernet is the length of an Ethernet header. When Linux checks the minimum offset of
	// the outer UDP header, it includes an Ethernet header even on devices without Ethernet headers
	// (virtio_net_hdr_tnl_to_skb). The kernel uses the offset in the virtio header only for this
	// check, because the receiving stack finds the UDP header by itself.
	tunAsEthernet = 14
)

// Tunnel describes the inner headers of a super-frame in a UDP tunnel.
type Tunnel struct {
	At    int // offset of the inner packet
	Inner Info
}

// parse describes the inner packet, which begins at the offset `at` in b. The method parse()
// checks the facts against the headers, except for the limits on segment size and count.
func (t *Tunnel) parse(b []byte, in *Info, facts *frame.Facts, at int) Reason {
	begin := in.HeaderLen + udpHeaderLen
	switch {
	case in.Fragment:
		return OffloadOnFragment
	case in.Routed:
		return OffloadOnRouted
	case in.Proto != ProtoUDP:
		return OffloadMismatch
	case in.L4HeaderLen == 0:
		return BadTransport
	case at < begin || at > begin+maxTunnelHeader || at >= len(b):
		return BadTunnel
	}
	if r := Parse(b[at:], &t.Inner); r != OK {
		return r
	}
	t.At = at
	inner := t.facts(*facts)
	return checkOffload(b[at:], &t.Inner, &inner)
}

func (t *Tunnel) facts(f frame.Facts) frame.Facts {
	f.GSO = f.GSO.Inner()
	return f
}

// Describe fills in t from a super-frame of a UDP tunnel, which VnetHeader.Facts has prepared or a
// peer has sent. The parameter `in` is the result of Parse for b.
func (t *Tunnel) Describe(b []byte, in *Info, facts *frame.Facts) Reason {
	at := 0
	if in.Proto == ProtoUDP && in.L4HeaderLen > 0 {
		at = int(binary.BigEndian.Uint16(b[in.HeaderLen+udpLenOffset:]))
	}
	return t.parse(b, in, facts, at)
}

// Validate checks a super-frame of a UDP tunnel from a peer, and prepares it for the TUN device.
// For frames outside a UDP tunnel, use the function Validate. The parameter `in` is the result of
// Parse for b.
func (t *Tunnel) Validate(b []byte, in *Info, facts *frame.Facts) Reason {
	return t.validate(b, in, facts, MinSegment)
}

// ValidateJoined is like Validate, but for a frame that Part.Join made. Its segments may have any
// size.
func (t *Tunnel) ValidateJoined(b []byte, in *Info, facts *frame.Facts) Reason {
	return t.validate(b, in, facts, 1)
}

func (t *Tunnel) validate(b []byte, in *Info, facts *frame.Facts, least uint16) Reason {
	switch {
	case len(b) != in.TotalLen:
		return BadLength
	case in.TotalLen > MaxLen:
		return TooLong
	case !facts.CSum:
		return PartialMissing
	}
	if r := t.Describe(b, in, facts); r != OK {
		return r
	}
	switch n := t.Count(*facts); {
	case n > MaxSegments:
		return TooManySegments
	case n == 1, facts.GSOSize < least:
		return BadSegmentSize
	}
	t.restore(b, in)
	return OK
}

// restore writes the outer UDP length, and the pseudo-header sums of the partial checksums, into
// the headers.
func (t *Tunnel) restore(b []byte, in *Info) {
	binary.BigEndian.PutUint16(b[in.HeaderLen+udpLenOffset:], uint16(in.TotalLen-in.HeaderLen))
	if t.summed(b, in) {
		writePartial(b, in)
	}
	writePartial(b[t.At:], &t.Inner)
}

// summed reports whether the outer packets have a checksum.
func (t *Tunnel) summed(b []byte, in *Info) bool {
	return binary.BigEndian.Uint16(b[in.CSumStart+in.CSumOffset:]) != 0
}

// complete computes both checksums. It computes the inner one first, because the outer one covers
// it.
func (t *Tunnel) complete(b []byte, in *Info) {
	completeChecksum(b[t.At:], t.Inner.CSumStart, t.Inner.CSumOffset)
	if t.summed(b, in) {
		completeChecksum(b, in.CSumStart, in.CSumOffset)
	}
}

// Count returns the number of packets in the super-frame, at least 1.
func (t *Tunnel) Count(facts frame.Facts) int { return segments(&t.Inner, t.facts(facts)) }

// Carried reports whether a peer accepts the super-frame without segmentation.
func (t *Tunnel) Carried(facts frame.Facts) bool {
	n := t.Count(facts)
	return n > 1 && n <= MaxSegments && facts.GSOSize >= MinSegment
}

// SegmentLen returns the length of packet i of the super-frame, in bytes.
func (t *Tunnel) SegmentLen(facts frame.Facts, i int) int {
	return t.At + SegmentLen(&t.Inner, t.facts(facts), i)
}

// Segment writes packet i of the super-frame b into dst, as the kernel's skb_udp_tunnel_segment
// would make it. Before Segment is called, Describe or Validate must have described b. The slice
// dst must have as many bytes as SegmentLen returns. The packet's checksums are complete, so the
// packet needs no facts.
func (t *Tunnel) Segment(dst, b []byte, in *Info, facts frame.Facts, i int) {
	copy(dst, b[:t.At])
	Segment(dst[t.At:], b[t.At:], &t.Inner, t.facts(facts), i)
	summed := t.summed(b, in)
	part := *in
	setLength(dst, &part, len(dst))
	if !summed {
		binary.BigEndian.PutUint16(dst[in.CSumStart+in.CSumOffset:], 0)
	}
	if in.Version == 4 {
		id := binary.BigEndian.Uint16(b[ipv4IDOffset:])
		binary.BigEndian.PutUint16(dst[ipv4IDOffset:], id+uint16(i))
		writeHeaderChecksum(dst, in.HeaderLen)
	}
	t.complete(dst, in)
}

// dropLast removes the last segment of the super-frame, as DropLastSegment does. If a single
// packet is left, the super-frame becomes an ordinary packet.
func (t *Tunnel) dropLast(f *frame.Frame, in *Info) bool {
	if t.Describe(f.Data, in, &f.Facts) != OK {
		return false
	}
	inner := frame.New(f.Data[t.At:], nil)
	inner.Facts = t.facts(f.Facts)
	if !DropLastSegment(inner) {
		return false
	}
	length := t.At + len(inner.Data)
	if in.Version == 4 {
		updateChecksum(f.Data[ipv4CSumOffset:], uint16(in.TotalLen), uint16(length))
	}
	f.Data = f.Data[:length]
	in.setTotal(f.Data, length)
	t.Inner.TotalLen = len(inner.Data)
	if inner.Facts.GSO == frame.GSONone {
		f.Facts = frame.Facts{Ordered: f.Facts.Ordered}
		t.restore(f.Data, in)
		t.complete(f.Data, in)
	}
	return true
}

// VnetHeader returns the long virtio header for a frame that Validate accepted. If the result
// `fits` is false, the kernel would refuse the frame: its check assumes an Ethernet header
// (tunAsEthernet), for which there is no room.
func (t *Tunnel) VnetHeader(b []byte, in *Info, facts frame.Facts) (h VnetHeader, fits bool) {
	h = BuildVnetHeader(b[t.At:], &t.Inner, t.facts(facts))
	h.HdrLen += uint16(t.At)
	h.CSumStart += uint16(t.At)
	h.InnerStart = uint16(t.At)
	if in.Version == 6 {
		h.GSOType |= vnetTunnel6
	} else {
		h.GSOType |= vnetTunnel4
	}
	h.OuterStart = uint16(outerStart(in))
	if t.summed(b, in) {
		h.Flags |= vnetTunnelCSum
	}
	return h, t.fits(in)
}

// outerStart returns the offset of the outer UDP header for the virtio header.
func outerStart(in *Info) int {
	least := ipv4HeaderLen
	if in.Version == 6 {
		least = ipv6HeaderLen
	}
	return max(in.HeaderLen, tunAsEthernet+least)
}

// fits reports whether the kernel accepts a frame with these headers.
func (t *Tunnel) fits(in *Info) bool { return outerStart(in)+udpHeaderLen <= t.At }

// tunnelFacts does the work of VnetHeader.Facts for a super-frame of a UDP tunnel.
func (h VnetHeader) tunnelFacts(b []byte, in *Info, out *frame.Facts) Reason {
	kind, ok := gsoKind(h.GSOType &^ (vnetTunnel4 | vnetTunnel6))
	if !ok || kind == frame.GSONone {
		return UnknownOffload
	}
	if h.Flags&vnetNeedsCSum == 0 {
		return PartialMissing
	}
	facts := frame.Facts{GSO: kind.Within(), GSOSize: h.GSOSize, CSum: true, Ordered: out.Ordered}
	var t Tunnel
	if r := t.parse(b, in, &facts, int(h.InnerStart)); r != OK {
		return r
	}
	switch start := int(h.CSumStart) - t.At; {
	case int(h.OuterStart) != in.HeaderLen:
		return BadTunnel
	case start != t.Inner.CSumStart || int(h.CSumOffset) != t.Inner.CSumOffset:
		return BadChecksumPlace
	case int(binary.BigEndian.Uint16(b[in.HeaderLen+udpLenOffset:])) != in.TotalLen-in.HeaderLen:
		return BadLength
	}
	if t.Count(facts) == 1 {
		t.restore(b, in)
		t.complete(b, in)
		*out = frame.Facts{Ordered: out.Ordered}
		return OK
	}
	binary.BigEndian.PutUint16(b[in.HeaderLen+udpLenOffset:], uint16(t.At))
	*out = facts
	return OK
}
