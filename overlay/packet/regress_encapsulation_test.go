package packet

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// The flags for a UDP tunnel, in virtio headers of both lengths, have no effect on packets outside
// such tunnels, and do not make super-frames of them. (In CVE-2026-23254 of Linux, segments with
// these flags got a wrong checksum.)
func TestEncapsulationBitsOutsideOfTunnels(t *testing.T) {
	for _, s := range []spec{{payload: bytesUpTo(3000)}, {v6: true, payload: bytesUpTo(3000)}, {udp: true, payload: bytesUpTo(3000)}, {v6: true, udp: true, payload: bytesUpTo(3000)}} {
		for _, bits := range []uint8{vnetTunnel4, vnetTunnel6, vnetTunnel4 | vnetTunnel6} {
			for kind := range uint8(8) {
				for flags := range uint8(16) {
					for _, inner := range []uint16{0, 1, 20, 28, 36, 48, 50, 3000, 65535} {
						b := s.build()
						in := parse(t, b)
						h := VnetHeader{
							Flags: flags, GSOType: kind | bits, GSOSize: 1000, CSumStart: uint16(in.CSumStart), CSumOffset: uint16(in.CSumOffset),
							OuterStart: uint16(in.HeaderLen), InnerStart: inner,
						}
						want := append([]byte(nil), b...)
						facts := frame.Facts{Ordered: true}
						if r := h.Facts(b, &in, &facts); r == OK || facts != (frame.Facts{Ordered: true}) || !bytes.Equal(b, want) {
							t.Fatalf("%+v is %v, with %+v", h, r, facts)
						}
					}
				}
			}
		}
	}
}
