package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// VnetHeaderLen is the size of struct virtio_net_hdr without num_buffers, which the TUN driver
// uses by default (linux/include/uapi/linux/virtio_net.h).
const VnetHeaderLen = 10

// VnetTunnelHeaderLen is the size of struct virtio_net_hdr_v1_hash_tunnel. After TUNSETVNETHDRSZ
// with this length, the TUN driver uses the longer header (Linux 6.17). The TUN driver leaves
// the fields between the first ten bytes and the two tunnel offsets zero.
const VnetTunnelHeaderLen = 24

// These constants are the positions of the two tunnel offsets in the long header, in bytes.
const (
	vnetOuterAt = 20
	vnetInnerAt = 22
)

// These constants are values of the header's fields, from the same kernel header.
const (
	vnetNeedsCSum  = 1
	vnetTunnelCSum = 8

	vnetGSONone  = 0
	vnetGSOTCP4  = 1
	vnetGSOTCP6  = 4
	vnetGSOUDPL4 = 5
	vnetGSOECN   = 0x80

	vnetTunnel4 = 0x20
	vnetTunnel6 = 0x40
)

// VnetHeader is the kernel's description of a frame's offloads. The first fields of the header
// are, in the byte order of the machine:
//
//	flags 1, gso_type 1, hdr_len 2, gso_size 2, csum_start 2, csum_offset 2
//
// The long form of the header has two more fields, in little-endian byte order: the offsets of the
// outer UDP header and of the inner packet.
type VnetHeader struct {
	Flags, GSOType                         uint8
	HdrLen, GSOSize, CSumStart, CSumOffset uint16
	OuterStart, InnerStart                 uint16
}

// ReadVnetHeader decodes a header from b, which has VnetHeaderLen or VnetTunnelHeaderLen bytes.
func ReadVnetHeader(b []byte) (VnetHeader, Reason) {
	if len(b) < VnetHeaderLen {
		return VnetHeader{}, Truncated
	}
	h := VnetHeader{
		Flags:      b[0],
		GSOType:    b[1],
		HdrLen:     binary.NativeEndian.Uint16(b[2:]),
		GSOSize:    binary.NativeEndian.Uint16(b[4:]),
		CSumStart:  binary.NativeEndian.Uint16(b[6:]),
		CSumOffset: binary.NativeEndian.Uint16(b[8:]),
	}
	if len(b) >= VnetTunnelHeaderLen {
		h.OuterStart = binary.LittleEndian.Uint16(b[vnetOuterAt:])
		h.InnerStart = binary.LittleEndian.Uint16(b[vnetInnerAt:])
	}
	return h, OK
}

// Put encodes h into b, which has VnetHeaderLen or VnetTunnelHeaderLen bytes.
func (h VnetHeader) Put(b []byte) {
	_ = b[VnetHeaderLen-1]
	b[0], b[1] = h.Flags, h.GSOType
	binary.NativeEndian.PutUint16(b[2:], h.HdrLen)
	binary.NativeEndian.PutUint16(b[4:], h.GSOSize)
	binary.NativeEndian.PutUint16(b[6:], h.CSumStart)
	binary.NativeEndian.PutUint16(b[8:], h.CSumOffset)
	if len(b) >= VnetTunnelHeaderLen {
		clear(b[VnetHeaderLen:vnetOuterAt])
		binary.LittleEndian.PutUint16(b[vnetOuterAt:], h.OuterStart)
		binary.LittleEndian.PutUint16(b[vnetInnerAt:], h.InnerStart)
	}
}

// BuildVnetHeader returns the virtio header for a frame that Validate accepted. The virtio
// header depends only on the inner headers and the facts. The field hdr_len is the offset of the
// payload.
func BuildVnetHeader(b []byte, in *Info, facts frame.Facts) VnetHeader {
	if !facts.CSum {
		return VnetHeader{}
	}
	h := VnetHeader{
		Flags:      vnetNeedsCSum,
		HdrLen:     uint16(in.HeaderLen + in.L4HeaderLen),
		GSOSize:    facts.GSOSize,
		CSumStart:  uint16(in.CSumStart),
		CSumOffset: uint16(in.CSumOffset),
	}
	h.GSOType = gsoType(b, in, facts.GSO)
	return h
}

// gsoType returns the kernel's constant for segmentation g of the packet b.
func gsoType(b []byte, in *Info, g frame.GSO) (t uint8) {
	switch g {
	case frame.GSOTCP4:
		t = vnetGSOTCP4
	case frame.GSOTCP6:
		t = vnetGSOTCP6
	case frame.GSOUDP:
		t = vnetGSOUDPL4
	}
	// CWR may be set only in the first segment (RFC 3168 section 6.1.2). The flag vnetGSOECN makes
	// the kernel cut the frame that way.
	if in.Proto == ProtoTCP && g != frame.GSONone && b[in.HeaderLen+tcpFlagsOffset]&tcpCWR != 0 {
		t |= vnetGSOECN
	}
	return t
}

// Facts translates the virtio header of packet b, whose headers the argument `in` describes, to
// facts in `out`. Facts sets the fields GSO, GSOSize and CSum of `out`, and does not change
// Ordered. If the header names a partial checksum other than that of the outermost TCP or UDP
// header, Facts completes this checksum in b, because the facts cannot describe it to the peer.
// Facts ignores the field hdr_len, because for forwarded frames the kernel stores the length of the
// buffer's linear part there. In a super-frame of a UDP tunnel, Facts writes the offset of the
// inner packet into the outer UDP length field.
func (h VnetHeader) Facts(b []byte, in *Info, out *frame.Facts) Reason {
	if h.GSOType&(vnetTunnel4|vnetTunnel6) != 0 {
		return h.tunnelFacts(b, in, out)
	}
	out.GSO, out.GSOSize, out.CSum = frame.GSONone, 0, false
	kind, ok := gsoKind(h.GSOType)
	if !ok {
		return UnknownOffload
	}
	if h.Flags&vnetNeedsCSum == 0 {
		if kind != frame.GSONone {
			return PartialMissing
		}
		return OK
	}
	start, offset := int(h.CSumStart), int(h.CSumOffset)
	facts := frame.Facts{GSO: kind, CSum: true, Ordered: out.Ordered}
	if kind != frame.GSONone {
		facts.GSOSize = h.GSOSize
	}
	described := start == in.CSumStart && offset == in.CSumOffset && checkOffload(b, in, &facts) == OK
	if described {
		*out = facts
		return OK
	}
	if kind != frame.GSONone {
		return firstOf(checkOffload(b, in, &facts), BadChecksumPlace)
	}
	if start+offset+2 > in.TotalLen {
		return BadChecksumPlace
	}
	completeChecksum(b, start, offset)
	return OK
}

func gsoKind(t uint8) (frame.GSO, bool) {
	switch t &^ vnetGSOECN {
	case vnetGSONone:
		return frame.GSONone, true
	case vnetGSOTCP4:
		return frame.GSOTCP4, true
	case vnetGSOTCP6:
		return frame.GSOTCP6, true
	case vnetGSOUDPL4:
		return frame.GSOUDP, true
	}
	return frame.GSONone, false
}

func firstOf(r, otherwise Reason) Reason {
	if r != OK {
		return r
	}
	return otherwise
}
