package packet

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants with balanced bits, from the fractional digits of pi, so that
// fields which are often zero still meet a dense multiplicand.
const (
	hashKey0 = 0x243f6a8885a308d3
	hashKey1 = 0x13198a2e03707345
	hashKey2 = 0xa4093822299f31d1
)

// flowHash hashes the flow key of a parsed packet by folded 64x64->128-bit
// multiplications, the mixer of the wyhash family. Without the seed the other
// side cannot choose packets that fall into one bucket.
func flowHash(b []byte, in *Info, seed uint64) uint32 {
	meta := uint64(in.SrcPort)<<48 | uint64(in.DstPort)<<32 | uint64(in.Proto)<<8 | uint64(in.Version)
	if in.Fragment {
		meta |= 1 << 16
	}
	var h uint64
	if in.Version == 4 {
		h = fold(binary.BigEndian.Uint64(b[12:])^seed^hashKey0, seed^hashKey1)
	} else {
		h = fold(binary.BigEndian.Uint64(b[8:])^seed^hashKey0, binary.BigEndian.Uint64(b[16:])^hashKey1)
		h = fold(h^binary.BigEndian.Uint64(b[24:])^hashKey2, binary.BigEndian.Uint64(b[32:])^seed^hashKey1)
	}
	h = fold(h^hashKey0, meta^seed^hashKey2)
	h = fold(h^hashKey1, seed^hashKey0)
	return uint32(h ^ h>>32)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
