package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// VnetHeaderLen is the size of struct virtio_net_hdr without num_buffers, as
// the TUN driver uses it by default (linux/include/uapi/linux/virtio_net.h).
const VnetHeaderLen = 10

// The fields' values, from the same header.
const (
	vnetNeedsCSum = 1

	vnetGSONone  = 0
	vnetGSOTCP4  = 1
	vnetGSOTCP6  = 4
	vnetGSOUDPL4 = 5
	vnetGSOECN   = 0x80
)

// VnetHeader is the kernel's description of a frame's offloads:
//
//	flags 1, gso_type 1, hdr_len 2, gso_size 2, csum_start 2, csum_offset 2
//
// in the byte order of the machine.
type VnetHeader struct {
	Flags, GSOType                         uint8
	HdrLen, GSOSize, CSumStart, CSumOffset uint16
}

// ReadVnetHeader decodes the first VnetHeaderLen bytes of b.
func ReadVnetHeader(b []byte) (VnetHeader, Reason) {
	if len(b) < VnetHeaderLen {
		return VnetHeader{}, Truncated
	}
	return VnetHeader{
		Flags:      b[0],
		GSOType:    b[1],
		HdrLen:     binary.NativeEndian.Uint16(b[2:]),
		GSOSize:    binary.NativeEndian.Uint16(b[4:]),
		CSumStart:  binary.NativeEndian.Uint16(b[6:]),
		CSumOffset: binary.NativeEndian.Uint16(b[8:]),
	}, OK
}

// Put encodes h into the first VnetHeaderLen bytes of b.
func (h VnetHeader) Put(b []byte) {
	_ = b[VnetHeaderLen-1]
	b[0], b[1] = h.Flags, h.GSOType
	binary.NativeEndian.PutUint16(b[2:], h.HdrLen)
	binary.NativeEndian.PutUint16(b[4:], h.GSOSize)
	binary.NativeEndian.PutUint16(b[6:], h.CSumStart)
	binary.NativeEndian.PutUint16(b[8:], h.CSumOffset)
}

// BuildVnetHeader returns the header with which a frame that Validate accepted
// is written to the TUN device. It is made from the inner headers and the facts
// alone. hdr_len is where the payload begins.
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
	switch facts.GSO {
	case frame.GSOTCP4:
		h.GSOType = vnetGSOTCP4
	case frame.GSOTCP6:
		h.GSOType = vnetGSOTCP6
	case frame.GSOUDP:
		h.GSOType = vnetGSOUDPL4
	}
	// CWR belongs to the first segment only; the flag tells whoever cuts the
	// frame (RFC 3168 section 6.1.2).
	if in.Proto == ProtoTCP && facts.GSO != frame.GSONone && b[in.HeaderLen+tcpFlagsOffset]&tcpCWR != 0 {
		h.GSOType |= vnetGSOECN
	}
	return h
}

// Facts translates the header that the kernel gave with the packet b, which
// Parse has described in in. It sets GSO, GSOSize and CSum of out and leaves
// Ordered. A partial checksum that is not the outermost TCP or UDP one cannot
// be described to the peer and is completed in b. hdr_len is not looked at: on
// forwarded frames the kernel gives the length of its linear part there.
func (h VnetHeader) Facts(b []byte, in *Info, out *frame.Facts) Reason {
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
