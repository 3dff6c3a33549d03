// Package wire encodes and decodes the data packet of the tunnel. All fields are big
// endian.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------+-------+---------------+-------------------------------+
//	|ver = 2|typ = 4|   flags = 0   |           path slot           |
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
// The 16 bytes of the header are authenticated as the AEAD's additional data, but not
// encrypted. The nonce is the path slot as 32 bits and the packet number as 64 bits, XORed
// with the key's IV. Because of the secret IV, an attacker cannot predict the nonce of a
// packet, or which nonces two keys share (RFC 8446 section 5.3, RFC 9001 section 5.3).
//
// The sealed part is a sequence of frames (see frame.go). The page docs/wire.md has the
// same drawings, with an example of each frame in hex. The golden test of this package
// compares the code with these examples.
package wire

import "encoding/binary"

// HeaderLen, TagLen, NonceLen and Overhead are sizes in bytes.
const (
	Version   = 2
	TypeData  = 4
	HeaderLen = 16
	TagLen    = 16
	NonceLen  = 12
	Overhead  = HeaderLen + TagLen
	// MaxPacket is the largest packet: 9,000 bytes minus the headers of IPv4 and UDP.
	MaxPacket = 8972
)

// first is the first byte of each data packet.
const first = Version<<4 | TypeData

// Header is the unencrypted part of a data packet.
type Header struct {
	Slot  uint16 // the sender's number of the path
	Index uint32 // the receiver's number of the session
	PN    uint64 // packet number on that path
}

// IsData reports whether b begins like a data packet of this version and has a possible
// length.
func IsData(b []byte) bool {
	return len(b) >= Overhead && len(b) <= MaxPacket && b[0] == first && b[1] == 0
}

// Put writes h into the first HeaderLen bytes of b.
func (h Header) Put(b []byte) {
	_ = b[HeaderLen-1]
	b[0], b[1] = first, 0
	binary.BigEndian.PutUint16(b[2:], h.Slot)
	binary.BigEndian.PutUint32(b[4:], h.Index)
	binary.BigEndian.PutUint64(b[8:], h.PN)
}

// ParseHeader reads the header of a packet for which IsData returned true.
func ParseHeader(b []byte) Header {
	_ = b[HeaderLen-1]
	return Header{
		Slot:  binary.BigEndian.Uint16(b[2:]),
		Index: binary.BigEndian.Uint32(b[4:]),
		PN:    binary.BigEndian.Uint64(b[8:]),
	}
}

// Nonce fills n with the nonce of the packet that begins with header b. The argument `iv` is
// the IV of the key.
func Nonce(n, iv *[NonceLen]byte, b []byte) {
	_ = b[HeaderLen-1]
	head := binary.BigEndian.Uint32(iv[:]) ^ uint32(binary.BigEndian.Uint16(b[2:]))
	binary.BigEndian.PutUint32(n[:], head)
	binary.BigEndian.PutUint64(n[4:], binary.BigEndian.Uint64(iv[4:])^binary.BigEndian.Uint64(b[8:]))
}
