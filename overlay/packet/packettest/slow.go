// Package packettest has slow and simple implementations. Tests compare the results of package
// packet with theirs.
package packettest

import "github.com/srdtun/srdtun/overlay/frame"

// Sum returns the sum of RFC 1071, computed in the simplest way. It adds 16-bit words, adds each
// carry immediately, and pads an odd last byte with a zero byte. A checksum of RFC 1071 is the
// complement of the sum.
func Sum(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		s += w
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// GSO returns the kind of a super-frame of TCP or UDP packets, over IPv4 or IPv6.
func GSO(v6, udp bool) frame.GSO {
	switch {
	case udp:
		return frame.GSOUDP
	case v6:
		return frame.GSOTCP6
	}
	return frame.GSOTCP4
}
