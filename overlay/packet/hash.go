package packet

import (
	"encoding/binary"
	"math/bits"
)

// FlowKey is the secret key of FlowHash. A sender that does not know the key cannot choose packets
// whose hashes share a bucket.
type FlowKey [2]uint64

// metaLen is the length, in bytes, of the flow key without the addresses. These bytes are the
// ports, the protocol, and a flag for fragments. For packets in a tunnel, the tunnel's identifier
// adds tunnelLen bytes to the flow key.
const (
	metaLen   = 6
	tunnelLen = 8
)

// FlowHash returns the hash of the flow key of packet b, whose headers the argument `in`
// describes. The flow key is the 5-tuple, or for fragments the addresses and the protocol, so
// that all fragments share one flow. For a known tunnel (VXLAN, Geneve, GRE, IP in IP), the flow
// key is the inner 5-tuple, the tunnel's ends and its identifier. The hash is SipHash-2-4
// (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012) of the addresses
// and of metaLen bytes. With the same secret key, the hash is the same on every machine.
func FlowHash(b []byte, in *Info, key FlowKey) uint32 {
	hash, _ := FlowOf(b, in, key)
	return hash
}

// FlowOf returns the FlowHash of a packet and the upper-layer protocol of its flow.
func FlowOf(b []byte, in *Info, key FlowKey) (hash uint32, proto uint8) {
	h := newSip(key)
	h.addresses(b, in.Version)
	if mayTunnel(in) {
		var inner Info
		if id, ok := findInner(b, in, &inner); ok {
			h.word(uint64(id) | uint64(in.Proto)<<32 | uint64(in.DstPort)<<40)
			h.innerAddresses(&inner)
			return h.end(&inner, tunnelLen), inner.Proto
		}
	}
	return h.end(in, 0), in.Proto
}

// mayTunnel reports whether the outer header may belong to a known tunnel. For most packets
// mayTunnel returns false, so their payload is not read.
func mayTunnel(in *Info) bool {
	switch in.Proto {
	case ProtoUDP:
		return in.DstPort == portVXLAN || in.DstPort == portVXLANLinux || in.DstPort == portGeneve
	case protoGRE, protoIPIP, protoSIT:
		return true
	}
	return false
}

// sip is the state of SipHash-2-4, and the number of address bytes hashed so far.
type sip struct {
	v0, v1, v2, v3 uint64
	n              int
}

func newSip(key FlowKey) sip {
	return sip{
		v0: key[0] ^ 0x736f6d6570736575, v1: key[1] ^ 0x646f72616e646f6d,
		v2: key[0] ^ 0x6c7967656e657261, v3: key[1] ^ 0x7465646279746573,
	}
}

func (h *sip) word(w uint64) {
	v0, v1, v2, v3 := sipRound(h.v0, h.v1, h.v2, h.v3^w)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	h.v0, h.v1, h.v2, h.v3 = v0^w, v1, v2, v3
}

func (h *sip) addresses(b []byte, version uint8) {
	a := b[12:20]
	if version == 6 {
		a = b[8:40]
	}
	h.n += len(a)
	for ; len(a) > 0; a = a[8:] {
		h.word(binary.LittleEndian.Uint64(a))
	}
}

// innerAddresses hashes the addresses of an inner packet, which the argument `in` describes.
func (h *sip) innerAddresses(in *Info) {
	src, dst := in.Src.As16(), in.Dst.As16()
	for _, a := range [][]byte{src[:], dst[:]} {
		h.word(binary.LittleEndian.Uint64(a))
		h.word(binary.LittleEndian.Uint64(a[8:]))
	}
	h.n += len(src) + len(dst)
}

// end adds ports and protocol to the hash, and returns the hash. The parameter `more` is the number
// of hashed bytes that h.n does not count.
func (h *sip) end(in *Info, more int) uint32 {
	last := uint64(h.n+more+metaLen)<<56 |
		uint64(in.SrcPort) | uint64(in.DstPort)<<16 | uint64(in.Proto)<<32
	if in.Fragment {
		last |= 1 << 40
	}
	h.word(last)
	v0, v1, v2, v3 := h.v0, h.v1, h.v2^0xff, h.v3
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	sum := v0 ^ v1 ^ v2 ^ v3
	return uint32(sum ^ sum>>32)
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
