package packet

import (
	"encoding/binary"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// A length near 65,536 does not wrap around to a small one. (wireguard-go added IPv6's payload
// length and header length in 16 bits.)
func TestLengthsDoNotWrap(t *testing.T) {
	for _, field := range []uint16{0xffff, 0xffff - 39, 0xffff - 40, 0xffd8, 0xffd9} {
		b := spec{v6: true, udp: true, payload: bytesUpTo(100)}.build()
		binary.BigEndian.PutUint16(b[4:], field)
		var in Info
		if r := Parse(b, &in); r == OK && in.TotalLen <= len(b) {
			t.Errorf("payload length %d: a packet of %d bytes", field, in.TotalLen)
		}
		if r := Parse(b, &in); r == OK && Validate(b, &in, &frame.Facts{}) == OK {
			t.Errorf("payload length %d in %d bytes is accepted", field, len(b))
		}
	}
	for _, field := range []uint16{0, 1, 19, 0xffff} {
		b := spec{udp: true, payload: bytesUpTo(100)}.build()
		binary.BigEndian.PutUint16(b[2:], field)
		var in Info
		if r := Parse(b, &in); r == OK && Validate(b, &in, &frame.Facts{}) == OK {
			t.Errorf("IPv4 total length %d in %d bytes is accepted", field, len(b))
		}
	}
}
