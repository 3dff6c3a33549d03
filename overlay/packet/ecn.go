package packet

import "encoding/binary"

const (
	ecnMask   = 3
	ecnCE     = 3
	ecnNotECT = 0
)

// SetCE marks a packet that Parse accepted as having met congestion (RFC 3168
// section 5) and reports whether it now carries the mark; a packet that is not
// ECN-capable stays as it is. On a super-frame the mark is that of every
// segment. The IPv4 header checksum is updated (RFC 1624).
func SetCE(b []byte) bool {
	if b[0]>>4 == 6 {
		if b[1]>>4&ecnMask == ecnNotECT {
			return false
		}
		b[1] |= ecnCE << 4
		return true
	}
	switch b[1] & ecnMask {
	case ecnNotECT:
		return false
	case ecnCE:
		return true
	}
	old := binary.BigEndian.Uint16(b)
	b[1] |= ecnCE
	updateChecksum(b[ipv4CSumOffset:], old, binary.BigEndian.Uint16(b))
	return true
}
