package sim

import (
	"encoding/binary"
	"net/netip"
)

// Sizes of headers in bytes, as links count them.
const (
	headerIPv4 = 20
	headerIPv6 = 40
	headerUDP  = 8
	headerTCP  = 32 // with the timestamp option
	// framing is what Ethernet adds on the wire to an IP packet: header, check
	// sequence, preamble and gap.
	framing = 38
)

// Protocol numbers (RFC 790).
const (
	ProtoTCP = 6
	ProtoUDP = 17
)

// Packet is one IP packet. Nodes pass it on by pointer and do not change it,
// but for a copy of their own. Data is never written to.
type Packet struct {
	Src, Dst netip.AddrPort
	Proto    uint8
	ECT, CE  bool   // ECN-capable transport; congestion experienced
	Data     []byte // UDP payload
	Meta     any    // what a model puts in place of a payload
	Size     int    // bytes of the IP packet
}

// UDP returns the packet of one datagram.
func UDP(src, dst netip.AddrPort, data []byte) *Packet {
	return &Packet{Src: src, Dst: dst, Proto: ProtoUDP, ECT: true, Data: data, Size: header(dst) + headerUDP + len(data)}
}

// header returns the length of the IP header of a packet to dst.
func header(dst netip.AddrPort) int {
	if dst.Addr().Is4() {
		return headerIPv4
	}
	return headerIPv6
}

// tuple returns a hash of the five-tuple, which is all that ECMP looks at.
func (p *Packet) tuple(seed uint64) uint64 {
	h := mix(seed ^ uint64(p.Proto))
	for _, a := range [...]netip.AddrPort{p.Src, p.Dst} {
		b := a.Addr().As16()
		h = mix(h ^ binary.BigEndian.Uint64(b[:8]))
		h = mix(h ^ binary.BigEndian.Uint64(b[8:]))
		h = mix(h ^ uint64(a.Port()))
	}
	return h
}

// digest identifies the packet in notes.
func (p *Packet) digest() uint64 {
	h := uint64(len(p.Data))
	if len(p.Data) >= 16 {
		h = mix(h ^ binary.BigEndian.Uint64(p.Data))
		h = mix(h ^ binary.BigEndian.Uint64(p.Data[8:]))
	}
	return h
}

// Node is what takes packets.
type Node interface{ Receive(*Packet) }
