package packet

import "encoding/binary"

// Singles recognizes TCP packets that the kernel could have passed in one super-frame, because each
// continues the previous packet of its flow. The zero value of Singles is the state before the
// first packet.
type Singles struct {
	flow    uint32
	next    uint32 // sequence number after the previous packet
	payload int    // payload bytes of the previous packet; 0: no packet can continue it
}

// tcpAE is a flag in the byte of the data offset. Only AccECN sets it (RFC 9768 section 3.1).
const tcpAE = 0x01

// Next reports whether the packet b continues the previous one, as a further segment of a
// super-frame would. Segments of a super-frame have equal lengths, except for a shorter last one.
// Next also reports whether b has AccECN's flag. The parameter `in` is the result of Parse for b.
func (s *Singles) Next(b []byte, in *Info, flow uint32) (continues, accECN bool) {
	if in.Proto != ProtoTCP || in.L4HeaderLen == 0 || in.Fragment {
		s.Reset()
		return false, false
	}
	l4, payload := b[in.HeaderLen:], in.Payload()
	seq := binary.BigEndian.Uint32(l4[tcpSeqOffset:])
	continues = payload > 0 && payload <= s.payload && flow == s.flow && seq == s.next
	*s = Singles{flow: flow, next: seq + uint32(payload), payload: payload}
	if payload < MinSegment {
		s.payload = 0 // a short segment ends a super-frame
	}
	return continues, l4[tcpDataOffset]&tcpAE != 0
}

// Reset forgets the previous packet.
func (s *Singles) Reset() { s.payload = 0 }
