package linkemu

import "encoding/binary"

// The constants are offsets and values in Ethernet II, IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC
// 768) and TCP (RFC 9293) headers.
const (
	etherLen   = 14
	etherIPv4  = 0x0800
	etherIPv6  = 0x86dd
	ipv6Len    = 40
	protoTCP   = 6
	protoUDP   = 17
	udpLen     = 8
	udpSumAt   = 6
	tcpMinLen  = 20
	tcpSumAt   = 16
	tcpWordsAt = 12
)

// transport is the position of the UDP or TCP segment in a frame.
type transport struct {
	proto byte
	start int // offset of the transport header
	body  int // offset of the bytes after the transport header
	end   int // end of the IP packet; frames may be padded after it
	sumAt int // offset of the checksum
	ip    int // offset of the IP header
	v6    bool
}

// parse finds the transport header of an Ethernet frame. parse returns false for fragments, IPv6
// extension headers, and protocols other than UDP and TCP. A Line also carries and delays
// fragments and other protocols, but does not corrupt them or assign them to a flow.
func parse(frame []byte) (t transport, ok bool) {
	if len(frame) < etherLen {
		return t, false
	}
	t.ip = etherLen
	switch p := frame[etherLen:]; binary.BigEndian.Uint16(frame[12:]) {
	case etherIPv4:
		if len(p) < 20 || p[0]>>4 != 4 || binary.BigEndian.Uint16(p[6:])&0x3fff != 0 {
			return t, false
		}
		t.proto, t.start = p[9], etherLen+int(p[0]&15)*4
		t.end = etherLen + int(binary.BigEndian.Uint16(p[2:]))
	case etherIPv6:
		if len(p) < ipv6Len {
			return t, false
		}
		t.v6, t.proto, t.start = true, p[6], etherLen+ipv6Len
		t.end = t.start + int(binary.BigEndian.Uint16(p[4:]))
	default:
		return t, false
	}
	return t, t.findBody(frame)
}

func (t *transport) findBody(frame []byte) bool {
	if t.end > len(frame) || t.start < t.ip+20 {
		return false
	}
	switch t.proto {
	case protoUDP:
		t.sumAt, t.body = t.start+udpSumAt, t.start+udpLen
	case protoTCP:
		if t.start+tcpMinLen > t.end {
			return false
		}
		t.sumAt, t.body = t.start+tcpSumAt, t.start+int(frame[t.start+tcpWordsAt]>>4)*4
	default:
		return false
	}
	return t.body <= t.end
}

// ports returns the flow key of a frame: the sum of both ports, which is equal in both
// directions.
func (t transport) ports(frame []byte) uint16 {
	return binary.BigEndian.Uint16(frame[t.start:]) + binary.BigEndian.Uint16(frame[t.start+2:])
}

// setChecksum recomputes the UDP or TCP checksum of a frame.
func (t transport) setChecksum(frame []byte) {
	frame[t.sumAt], frame[t.sumAt+1] = 0, 0
	addrs := frame[t.ip+12 : t.ip+20]
	if t.v6 {
		addrs = frame[t.ip+8 : t.ip+40]
	}
	sum := addWords(uint64(t.proto)+uint64(t.end-t.start), addrs)
	c := ^fold(addWords(sum, frame[t.start:t.end]))
	if c == 0 && t.proto == protoUDP {
		c = 0xffff // a sent zero would mean "no checksum" (RFC 768)
	}
	binary.BigEndian.PutUint16(frame[t.sumAt:], c)
}

// completeChecksum completes a checksum that covers only the pseudo header. The kernel leaves
// checksums incomplete where a network card would complete them. The checksum covers the bytes
// from start to the end of the frame, and is stored at start+offset (virtio_net_hdr,
// VIRTIO_NET_HDR_F_NEEDS_CSUM).
func completeChecksum(frame []byte, start, offset int) bool {
	at := start + offset
	if start < etherLen || offset < 0 || at+2 > len(frame) {
		return false
	}
	c := ^fold(addWords(0, frame[start:]))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(frame[at:], c)
	return true
}

// addWords adds the big-endian 16-bit words of b to a checksum, 32 bits at a time, which gives
// the same folded sum (RFC 1071).
func addWords(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
