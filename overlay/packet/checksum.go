package packet

import (
	"encoding/binary"
	"math/bits"
)

// sum adds the bytes of b to acc in ones' complement arithmetic (RFC 1071). The bytes count as
// big-endian 16-bit words, padded with a zero byte. A sum of 64-bit words with their carries is
// congruent to the sum of 16-bit words modulo 65,535. So sum adds 64-bit words, and fold16 reduces
// the result at the end. If b is a part of checksummed data, b must begin at an even offset of the
// data.
func sum(b []byte, acc uint64) uint64 {
	var carry uint64
	for len(b) >= 8 {
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(b), carry)
		b = b[8:]
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		acc, carry = bits.Add64(acc, binary.BigEndian.Uint64(tail[:]), carry)
	}
	acc, carry = bits.Add64(acc, carry, 0)
	return acc + carry
}

func fold16(acc uint64) uint16 {
	for acc > 0xffff {
		acc = acc>>16 + acc&0xffff
	}
	return uint16(acc)
}

// pseudoSum returns the value of a partial checksum field. This is the sum over the pseudo-header,
// without the final complement (RFC 9293 section 3.1, RFC 8200 section 8.1). The parameter `length`
// is the number of bytes of transport header and payload.
func pseudoSum(b []byte, in *Info, length int) uint16 {
	addresses := b[12:20]
	if in.Version == 6 {
		addresses = b[8:40]
	}
	return fold16(sum(addresses, uint64(in.Proto)+uint64(length)))
}

// writePartial writes the pseudo-header sum into the checksum field of the packet b.
func writePartial(b []byte, in *Info) {
	at := in.CSumStart + in.CSumOffset
	binary.BigEndian.PutUint16(b[at:], pseudoSum(b, in, in.TotalLen-in.HeaderLen))
}

// completeChecksum completes a partial checksum that covers b from the offset `start` to the
// end. The checksum field is at the offset `start` + `offset`. A checksum of zero is written as
// all ones, because in UDP zero means that there is no checksum (RFC 768). The caller must have
// checked that the checksum field lies in b.
func completeChecksum(b []byte, start, offset int) {
	c := ^fold16(sum(b[start:], 0))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(b[start+offset:], c)
}

// Complete completes the partial transport checksum of the packet b, which Validate or Segment
// wrote. The parameter `in` is the result of Parse for b, or for the super-frame of b.
func Complete(b []byte, in *Info) { completeChecksum(b, in.CSumStart, in.CSumOffset) }

// writeHeaderChecksum computes the IPv4 header checksum of b and writes it into the header.
func writeHeaderChecksum(b []byte, headerLen int) {
	binary.BigEndian.PutUint16(b[ipv4CSumOffset:], 0)
	binary.BigEndian.PutUint16(b[ipv4CSumOffset:], ^fold16(sum(b[:headerLen], 0)))
}

// updateChecksum updates the checksum in `field` for a 16-bit word that changes from `old` to
// `new`, by HC' = ~(~HC + ~m + m') of RFC 1624 equation 3.
func updateChecksum(field []byte, old, new uint16) {
	hc := binary.BigEndian.Uint16(field)
	c := fold16(uint64(^hc) + uint64(^old) + uint64(new))
	binary.BigEndian.PutUint16(field, ^c)
}
