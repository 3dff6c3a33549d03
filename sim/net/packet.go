package net

import (
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// These are sizes of headers in bytes, as links count them.
const (
	HeaderIPv4 = 20
	HeaderIPv6 = 40
	HeaderUDP  = 8
	headerTCP  = 32 // with the timestamp option
	// framing is the number of bytes that Ethernet adds to an IP packet on the wire: header,
	// check sequence, preamble and gap.
	framing = 38
)

// These are protocol numbers (RFC 790).
const (
	ProtoTCP = 6
	ProtoUDP = 17
)

// Packet is one IP packet. Its owner is the last node that received it. A node may also keep
// a packet that it passes on, as a tap does. Then no node may change or free this packet,
// including all later nodes. Data is not written to.
type Packet struct {
	Src, Dst netip.AddrPort
	Proto    uint8
	ECT, CE  bool   // ECN-capable transport; congestion experienced
	Data     []byte // UDP payload
	Meta     any    // a model's data in place of a payload
	Size     int    // bytes of the IP packet
	// Load is one more than the metric of the busiest link so far that writes its load
	// (Quality.Tell); 0 means that no link did.
	Load uint8

	flow uint64  // hash of the five-tuple; 0: not computed yet
	self *Packet // itself, while it belongs to an engine's pool

	Origin Origin
	Forged bool // spoilt or made up on its way: nobody may believe it
	Trap   bool // acknowledges a left-out packet number
}

// Origin is the sender of a packet and its first destination, through all changes of the
// packet's addresses. It is the same in all copies. By is nil if a stranger made the packet.
type Origin struct {
	By  Node
	Gen uint16     // which process of By
	Aim netip.Addr // first destination
	At  mono.Time
}

// poolBytes is the room for Data in a packet of the pool: a jumbo frame.
const poolBytes = 9000

// NewPacket returns an empty packet for Free to take back. Data has room for a jumbo frame.
func (e *Engine) NewPacket() *Packet {
	n := len(e.spare)
	if n == 0 {
		p := &Packet{Data: make([]byte, 0, poolBytes)}
		p.self = p
		return p
	}
	p := e.spare[n-1]
	e.spare = e.spare[:n-1]
	*p = Packet{Data: p.Data[:0], Meta: p.Meta, self: p}
	return p
}

// Free takes back a packet of NewPacket that nobody uses any more. Meta is kept for reuse by
// a model. Other packets are left alone.
func (e *Engine) Free(p *Packet) {
	if p.self == p {
		e.spare = append(e.spare, p)
	}
}

// Datagram makes p the packet of one datagram, whose bytes are in p.Data.
func (p *Packet) Datagram(src, dst netip.AddrPort) {
	p.Src, p.Dst, p.Proto, p.ECT, p.CE, p.Load, p.flow = src, dst, ProtoUDP, true, false, 0, 0
	p.Size = header(dst) + HeaderUDP + len(p.Data)
}

// UDP returns the packet of one datagram.
func UDP(src, dst netip.AddrPort, data []byte) *Packet {
	p := &Packet{Data: data}
	p.Datagram(src, dst)
	return p
}

// header returns the length of the IP header of a packet to dst.
func header(dst netip.AddrPort) int {
	if dst.Addr().Is4() {
		return HeaderIPv4
	}
	return HeaderIPv6
}

// Hash returns a hash of the five-tuple, the only input of ECMP. The part that does not
// depend on the seed is computed once.
func (p *Packet) Hash(seed uint64) uint64 {
	if p.flow == 0 {
		h := Mix(uint64(p.Proto))
		for _, a := range [...]netip.AddrPort{p.Src, p.Dst} {
			b := a.Addr().As16()
			h = Mix(h ^ binary.BigEndian.Uint64(b[:8]))
			h = Mix(h ^ binary.BigEndian.Uint64(b[8:]))
			h = Mix(h ^ uint64(a.Port()))
		}
		p.flow = max(1, h)
	}
	return Mix(p.flow + seed)
}

// Readdressed returns a copy of p with other addresses.
func (p *Packet) Readdressed(src, dst netip.AddrPort) *Packet {
	c := *p
	c.Src, c.Dst, c.flow = src, dst, 0
	return &c
}

// Digest identifies the packet in notes.
func (p *Packet) Digest() uint64 {
	h := uint64(len(p.Data))
	if len(p.Data) >= 16 {
		h = Mix(h ^ binary.BigEndian.Uint64(p.Data))
		h = Mix(h ^ binary.BigEndian.Uint64(p.Data[8:]))
	}
	return h
}

// Node receives packets.
type Node interface{ Receive(*Packet) }
