package packet

import (
	"encoding/binary"
	"math/bits"
)

// sum adds b, as big-endian 16-bit words padded with a zero byte, to acc in
// ones' complement arithmetic (RFC 1071). 64-bit words with the carry added
// back give the same class modulo 65,535, so fold16 may be put off to the end.
// b must begin at an even offset of what is summed.
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

// fold16 reduces a sum to 16 bits.
func fold16(acc uint64) uint16 {
	for acc > 0xffff {
		acc = acc>>16 + acc&0xffff
	}
	return uint16(acc)
}

// pseudoSum returns the folded, not complemented sum over the pseudo-header
// (RFC 9293 section 3.1, RFC 8200 section 8.1) for length bytes of transport
// header and payload: the value of a partial checksum field.
func pseudoSum(b []byte, in *Info, length int) uint16 {
	addresses := b[12:20]
	if in.Version == 6 {
		addresses = b[8:40]
	}
	return fold16(sum(addresses, uint64(in.Proto)+uint64(length)))
}

// writePartial writes the pseudo-header sum into the checksum field.
func writePartial(b []byte, in *Info) {
	at := in.CSumStart + in.CSumOffset
	binary.BigEndian.PutUint16(b[at:], pseudoSum(b, in, in.TotalLen-in.HeaderLen))
}

// completeChecksum finishes the partial checksum whose field lies at start +
// offset and which covers b from start on. A result of zero is written as all
// ones, since zero means "none" in UDP (RFC 768). Whoever calls has checked
// that the field lies in b.
func completeChecksum(b []byte, start, offset int) {
	c := ^fold16(sum(b[start:], 0))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(b[start+offset:], c)
}

// writeHeaderChecksum writes the IPv4 header checksum anew.
func writeHeaderChecksum(b []byte, headerLen int) {
	binary.BigEndian.PutUint16(b[ipv4CSumOffset:], 0)
	binary.BigEndian.PutUint16(b[ipv4CSumOffset:], ^fold16(sum(b[:headerLen], 0)))
}

// updateChecksum changes the checksum at field for a 16-bit word that goes from
// old to new: HC' = ~(~HC + ~m + m'), RFC 1624 equation 3.
func updateChecksum(field []byte, old, new uint16) {
	hc := binary.BigEndian.Uint16(field)
	c := fold16(uint64(^hc) + uint64(^old) + uint64(new))
	binary.BigEndian.PutUint16(field, ^c)
}
