package merge

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/packet/packettest"
)

// spec describes a packet or super-frame; its checksum is partial.
type spec struct {
	v6, udp bool
	port    uint16 // different for each flow
	seq     uint32
	ack     byte // low byte of the acknowledgement
	flags   byte // TCP flags
	tos     byte // traffic class, with ECN
	n       int  // payload, bytes
	size    int  // bytes of each segment; 0: one packet
}

// TCP flags.
const (
	fin = 0x01
	psh = 0x08
	ack = 0x10
)

// put writes the packet into b, whose length must be that of length(). The payload consists of the
// byte `fill`, so that payloads differ.
func (s spec) put(b []byte, fill byte) {
	clear(b)
	header, proto := 20, byte(packet.ProtoTCP)
	if s.udp {
		proto = packet.ProtoUDP
	}
	if s.v6 {
		header = 40
		binary.BigEndian.PutUint32(b, 6<<28|uint32(s.tos)<<20)
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-header))
		b[6], b[7], b[23], b[39] = proto, 64, 1, 2
		b[8], b[24] = 0xfd, 0xfd
	} else {
		b[0], b[1], b[6], b[8], b[9] = 0x45, s.tos, 0x40, 64, proto
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		copy(b[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
		binary.BigEndian.PutUint16(b[10:], ^packettest.Sum(b[:20]))
	}
	l4 := b[header:]
	binary.BigEndian.PutUint16(l4, s.port)
	binary.BigEndian.PutUint16(l4[2:], 443)
	if s.udp {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
		l4[6] = 1 // a checksum that is not zero; Validate computes the correct one
	} else {
		binary.BigEndian.PutUint32(l4[4:], s.seq)
		l4[11], l4[12], l4[13], l4[15] = s.ack, 5<<4, s.flags, 99
	}
	for i := range s.n {
		l4[len(l4)-1-i] = fill + byte(i*7)
	}
}

// length returns the length of the whole packet in bytes.
func (s spec) length() int {
	n := 20 + 20 + s.n
	if s.v6 {
		n += 20
	}
	if s.udp {
		n -= 12
	}
	return n
}

func (s spec) facts() frame.Facts {
	f := frame.Facts{CSum: true, Ordered: true}
	if s.size > 0 && s.size < s.n {
		f.GSO, f.GSOSize = s.kind(), uint16(s.size)
	}
	return f
}

func (s spec) kind() frame.GSO { return packettest.GSO(s.v6, s.udp) }
