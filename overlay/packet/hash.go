package packet

import (
	"encoding/binary"
	"math/bits"
)

// FlowKey is the secret that FlowHash is keyed with. Whoever does not know it cannot
// choose packets that fall into one bucket.
type FlowKey [2]uint64

// metaLen is how many bytes of the flow key follow the addresses: ports, protocol, and
// whether it is a fragment.
const metaLen = 6

// FlowHash hashes the flow key of the packet b, which Parse has described in in: its
// 5-tuple, or addresses and protocol for fragments, so that all parts of a packet share
// one flow. It is SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input
// PRF", INDOCRYPT 2012) of addresses and metaLen bytes, and the same for the same key
// on every machine.
func FlowHash(b []byte, in *Info, key FlowKey) uint32 {
	addresses := b[12:20]
	if in.Version == 6 {
		addresses = b[8:40]
	}
	last := uint64(len(addresses)+metaLen)<<56 |
		uint64(in.SrcPort) | uint64(in.DstPort)<<16 | uint64(in.Proto)<<32
	if in.Fragment {
		last |= 1 << 40
	}
	v0, v1 := key[0]^0x736f6d6570736575, key[1]^0x646f72616e646f6d
	v2, v3 := key[0]^0x6c7967656e657261, key[1]^0x7465646279746573
	for ; len(addresses) > 0; addresses = addresses[8:] {
		w := binary.LittleEndian.Uint64(addresses)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3^w)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= w
	}
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3^last)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v2 = v0^last, v2^0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	h := v0 ^ v1 ^ v2 ^ v3
	return uint32(h ^ h>>32)
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32) + v3
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	return v0, v1, bits.RotateLeft64(v2, 32), v3
}

// SameFlow reports whether two packets have the same flow key.
func SameFlow(a, b *Info) bool {
	return a.SrcPort == b.SrcPort && a.DstPort == b.DstPort && a.Proto == b.Proto &&
		a.Fragment == b.Fragment && a.Src == b.Src && a.Dst == b.Dst
}
