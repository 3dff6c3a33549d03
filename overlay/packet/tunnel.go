package packet

import "encoding/binary"

// A known tunnel is identified by the IP protocol, or for UDP by the destination port. A packet of
// an unknown tunnel is treated as an ordinary packet, by its outer headers.
const (
	protoIPIP = 4  // RFC 2003
	protoSIT  = 41 // RFC 4213
	protoGRE  = 47 // RFC 2784

	portVXLAN      = 4789 // RFC 7348
	portVXLANLinux = 8472 // the default of Linux, Flannel and Cilium
	portGeneve     = 6081 // RFC 8926
)

// These constants are lengths and values in tunnel headers.
const (
	vxlanHeaderLen  = 8
	vxlanValid      = 0x08 // the header has a network identifier
	geneveHeaderLen = 8
	geneveOptions   = 0x3f // mask of the length of the options, in units of four bytes
	greHeaderLen    = 4
	greChecksum     = 0x80 // each of these three flags adds four bytes to the header
	greKey          = 0x20
	greSequence     = 0x10
	greOthers       = 0x4f // routing, and the bits that RFC 2784 reserves
	etherHeaderLen  = 14
	vlanTagLen      = 4

	etherIPv4   = 0x0800
	etherIPv6   = 0x86dd
	etherVLAN   = 0x8100
	etherBridge = 0x6558 // an Ethernet frame in GRE or Geneve
)

// findInner finds the inner packet in the tunnel packet b, whose outer headers the argument `in`
// describes, and writes a description of the inner packet into `out`. The function findInner
// also returns the tunnel's identifier. For a packet without a known tunnel, findInner returns
// false. The inner packet may end before the end of b, because a short Ethernet frame is padded.
func findInner(b []byte, in, out *Info) (id uint32, ok bool) {
	if in.Fragment {
		return 0, false
	}
	p, id := tunnelled(in.Proto, b[in.HeaderLen:])
	n := ipLength(p)
	return id, n > 0 && n <= len(p) && Parse(p[:n], out) == OK
}

// tunnelled returns the inner packet in the payload b of an IP packet, and the tunnel's identifier.
// The result `inner` begins with the inner IP header. If b does not belong to a known tunnel,
// tunnelled() returns nil.
func tunnelled(proto uint8, b []byte) (inner []byte, id uint32) {
	switch {
	case proto == protoIPIP, proto == protoSIT:
		return b, 0
	case proto == protoGRE:
		return greInner(b)
	case proto != ProtoUDP || len(b) < udpHeaderLen:
		return nil, 0
	}
	switch payload := b[udpHeaderLen:]; binary.BigEndian.Uint16(b[2:]) {
	case portVXLAN, portVXLANLinux:
		return vxlanInner(payload)
	case portGeneve:
		return geneveInner(payload)
	}
	return nil, 0
}

// ipLength returns the packet length in the IP header at the beginning of b, or 0 if there is no
// IP header.
func ipLength(b []byte) int {
	switch {
	case len(b) >= ipv4HeaderLen && b[0]>>4 == 4:
		return int(binary.BigEndian.Uint16(b[ipv4TotalOffset:]))
	case len(b) >= ipv6HeaderLen && b[0]>>4 == 6:
		return ipv6HeaderLen + int(binary.BigEndian.Uint16(b[4:]))
	}
	return 0
}

func vxlanInner(b []byte) (inner []byte, id uint32) {
	if len(b) < vxlanHeaderLen || b[0]&vxlanValid == 0 {
		return nil, 0
	}
	return etherInner(b[vxlanHeaderLen:]), binary.BigEndian.Uint32(b[4:]) >> 8
}

func geneveInner(b []byte) (inner []byte, id uint32) {
	if len(b) < geneveHeaderLen || b[0]>>6 != 0 {
		return nil, 0
	}
	n := geneveHeaderLen + int(b[0]&geneveOptions)*4
	if n > len(b) {
		return nil, 0
	}
	return innerOf(binary.BigEndian.Uint16(b[2:]), b[n:]), binary.BigEndian.Uint32(b[4:]) >> 8
}

func greInner(b []byte) (inner []byte, id uint32) {
	if len(b) < greHeaderLen || b[0]&greOthers != 0 || b[1] != 0 {
		return nil, 0
	}
	n := greHeaderLen
	for _, flag := range []byte{greChecksum, greKey, greSequence} {
		if b[0]&flag == 0 {
			continue
		}
		if n+4 > len(b) {
			return nil, 0
		}
		if flag == greKey {
			id = binary.BigEndian.Uint32(b[n:])
		}
		n += 4
	}
	return innerOf(binary.BigEndian.Uint16(b[2:]), b[n:]), id
}

// innerOf returns the IP packet in b, whose EtherType is `kind`.
func innerOf(kind uint16, b []byte) []byte {
	switch kind {
	case etherIPv4, etherIPv6:
		return b
	case etherBridge:
		return etherInner(b)
	}
	return nil
}

// etherInner returns the IP packet in an Ethernet frame with at most one VLAN tag.
func etherInner(b []byte) []byte {
	if len(b) < etherHeaderLen {
		return nil
	}
	kind, b := binary.BigEndian.Uint16(b[12:]), b[etherHeaderLen:]
	if kind == etherVLAN && len(b) >= vlanTagLen {
		kind, b = binary.BigEndian.Uint16(b[2:]), b[vlanTagLen:]
	}
	if kind != etherIPv4 && kind != etherIPv6 {
		return nil
	}
	return b
}
