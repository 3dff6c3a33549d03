package net

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are header sizes in bytes.
const (
	HeaderIPv4 = 20
	HeaderIPv6 = 40
	HeaderUDP  = 8
	headerTCP  = 32 // TCP header with the timestamp option
	// framing is the number of bytes that Ethernet adds to an IP packet on the wire: header,
	// check sequence, preamble and gap.
	framing = 38
)

// These constants are IP protocol numbers (RFC 790).
const (
	ProtoTCP = 6
	ProtoUDP = 17
)

// Packet is one IP packet. The owner of a packet is the last node that received it. A node may keep
// a packet that it passes on, as a tap does. If a node keeps a packet, neither this node nor any
// later node may change or free the packet. No node may write to the Data of a packet.
type Packet struct {
	Src, Dst netip.AddrPort
	Proto    uint8
	ECT, CE  bool   // ECN-capable transport; congestion experienced
	Data     []byte // UDP payload, without the zeros at its end
	Zeros    int    // bytes of the payload that follow Data and are zero
	Meta     any    // data of a simulation model, in place of a payload
	Size     int    // bytes of the IP packet
	// Load is one more than the metric of the busiest link so far among links with Quality.Tell. A
	// Load of 0 means that there was no link with Quality.Tell.
	Load uint8

	Leaf LeafTag

	flow uint64  // hash of the five-tuple; 0: not computed yet
	to   int32   // number of the address Dst in the engine, plus one; 0: not looked up yet
	self *Packet // the packet itself, if it belongs to an engine's pool

	Origin Origin
	Forged bool // corrupted or forged on its way: no host may accept it
	Trap   Trap // skipped packet number that a liar acknowledges in this packet
}

// Trap is a packet number that a packet acknowledges, although the receiver of this packet seems to
// have skipped the number. The skipped number is Above-1. The zero value means that there is none.
type Trap struct {
	Slot  uint16
	Above uint64
}

// LeafTag holds the fields that leaf switches write into packets to balance load (CONGA, section
// 3.1): the uplink that the packet took, and the metric of one uplink of the destination's leaf.
// Path and Told are numbers of uplinks plus one, and 0 means none.
type LeafTag struct{ Path, Told, Metric uint8 }

// Origin identifies a packet's sender and its first destination, even if the packet's addresses are
// changed later. All copies of a packet have the same Origin. In a packet made by a stranger, By is
// nil.
type Origin struct {
	By  Node
	Gen uint16     // generation of the process of By
	Aim netip.Addr // first destination
	At  mono.Time
}

// NewPacket returns an empty packet that may later be passed to Free.
func (e *Engine) NewPacket() *Packet {
	n := len(e.spare)
	if n == 0 {
		p := &Packet{}
		p.self = p
		return p
	}
	p := e.spare[n-1]
	e.spare = e.spare[:n-1]
	*p = Packet{Data: p.Data[:0], Meta: p.Meta, self: p}
	return p
}

// keptData is the capacity in bytes of the largest buffer that the pool keeps. Few packets need a
// larger one, but without keptData, each of the pool's tens of thousands of packets would in time
// get such a buffer.
const keptData = 512

// Free returns an unused packet of NewPacket to the pool. Free keeps the field Meta for reuse by a
// model. For packets that are not from NewPacket, Free does nothing.
func (e *Engine) Free(p *Packet) {
	if p.self == p {
		if cap(p.Data) > keptData {
			p.Data = nil
		}
		e.spare = append(e.spare, p)
	}
}

// zeros is compared with a payload to find the zeros at its end, 256 bytes at a time.
var zeros [256]byte

// headLeast is the number of bytes at the start of a payload that stay in Data even if they are
// zero. Digest and the headers of the transport need them.
const headLeast = 64

// Fill copies the payload b into p. The zeros at the end of b are only counted, because the payload
// of an experiment is mostly zeros, and packets in flight are most of a large experiment's memory.
func (p *Packet) Fill(b []byte) {
	n := len(b)
	for n >= headLeast+len(zeros) && bytes.Equal(b[n-len(zeros):n], zeros[:]) {
		n -= len(zeros)
	}
	for n > headLeast && b[n-1] == 0 {
		n--
	}
	p.Data, p.Zeros = append(p.Data[:0], b[:n]...), len(b)-n
}

// Payload appends the whole payload to buf.
func (p *Packet) Payload(buf []byte) []byte {
	buf = append(buf, p.Data...)
	for left := p.Zeros; left > 0; left -= len(zeros) {
		buf = append(buf, zeros[:min(left, len(zeros))]...)
	}
	return buf
}

// Len returns the length of the payload in bytes.
func (p *Packet) Len() int { return len(p.Data) + p.Zeros }

// Datagram turns p into a packet with one UDP datagram. The payload is the one that p already has.
func (p *Packet) Datagram(src, dst netip.AddrPort) {
	p.Src, p.Dst, p.Proto, p.ECT, p.CE, p.Load, p.flow, p.to = src, dst, ProtoUDP, true, false, 0, 0, 0
	p.Size = header(dst) + HeaderUDP + p.Len()
}

// UDP returns a packet with one UDP datagram.
func UDP(src, dst netip.AddrPort, data []byte) *Packet {
	p := &Packet{Data: data}
	p.Datagram(src, dst)
	return p
}

// header returns the length in bytes of the IP header for a packet to dst.
func header(dst netip.AddrPort) int {
	if dst.Addr().Is4() {
		return HeaderIPv4
	}
	return HeaderIPv6
}

// Hash returns a hash of the five-tuple, which is the only input of ECMP. Hash computes the part
// that does not depend on the seed only once.
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
	c.Src, c.Dst, c.flow, c.to = src, dst, 0, 0
	return &c
}

// Digest returns a hash that identifies the packet in notes.
func (p *Packet) Digest() uint64 {
	h := uint64(p.Len())
	if len(p.Data) >= 16 {
		h = Mix(h ^ binary.BigEndian.Uint64(p.Data))
		h = Mix(h ^ binary.BigEndian.Uint64(p.Data[8:]))
	}
	return h
}

// Node is a part of the network that receives packets.
type Node interface{ Receive(*Packet) }
