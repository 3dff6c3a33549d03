// Package wire encodes and decodes the data packet of the tunnel. Everything
// is big endian.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------+-------+---------------+-------------------------------+
//	|ver = 1|typ = 4|   flags = 0   |           path slot           |
//	+-------+-------+---------------+-------------------------------+
//	|                        receiver index                         |
//	+---------------------------------------------------------------+
//	|                                                               |
//	+                         packet number                         +
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                  sealed frames … then 16-byte tag             |
//	+---------------------------------------------------------------+
//
// The 16 header bytes are in clear and are the AEAD's additional data. The
// nonce is the path slot as 32 bits followed by the packet number as 64 bits.
//
// Frames follow each other in the sealed part; see frame.go. docs/wire.md holds
// the same drawings with an example of each in hex, which the golden test of
// this package reads.
package wire

import "encoding/binary"

// Sizes of a data packet's fixed parts, in bytes.
const (
	Version   = 1
	TypeData  = 4
	HeaderLen = 16
	TagLen    = 16
	NonceLen  = 12
	Overhead  = HeaderLen + TagLen
)

// first is the only first byte a data packet can have.
const first = Version<<4 | TypeData

// Header is the clear part of a data packet.
type Header struct {
	Slot  uint16 // the sender's number of the path
	Index uint32 // the receiver's number of the session
	PN    uint64 // packet number on that path
}

// IsData reports whether b begins as a data packet of this version and is long
// enough to be one.
func IsData(b []byte) bool {
	return len(b) >= Overhead && b[0] == first && b[1] == 0
}

// Put writes h into the first HeaderLen bytes of b.
func (h Header) Put(b []byte) {
	_ = b[HeaderLen-1]
	b[0], b[1] = first, 0
	binary.BigEndian.PutUint16(b[2:], h.Slot)
	binary.BigEndian.PutUint32(b[4:], h.Index)
	binary.BigEndian.PutUint64(b[8:], h.PN)
}

// ParseHeader reads the header of a packet for which IsData holds.
func ParseHeader(b []byte) Header {
	_ = b[HeaderLen-1]
	return Header{
		Slot:  binary.BigEndian.Uint16(b[2:]),
		Index: binary.BigEndian.Uint32(b[4:]),
		PN:    binary.BigEndian.Uint64(b[8:]),
	}
}

// Nonce fills n with the nonce of the packet whose header begins b.
func Nonce(n *[NonceLen]byte, b []byte) {
	n[0], n[1] = 0, 0
	copy(n[2:4], b[2:4])
	copy(n[4:12], b[8:16])
}
