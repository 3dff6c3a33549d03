package packet

import "encoding/binary"

const (
	ecnMask   = 3
	ecnCE     = 3
	ecnNotECT = 0
)

// SetCE sets the CE mark (RFC 3168 section 5) on a packet that Parse accepted. SetCE reports
// whether the packet now carries the CE mark. SetCE does not change a packet that is not
// ECN-capable. A mark on a super-frame applies to each of its segments. SetCE also updates the
// IPv4 header checksum (RFC 1624).
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
