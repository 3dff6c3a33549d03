package udp

import (
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// FuzzControlMessages checks that parsing any bytes as control messages ends, and stays in
// the buffer. Bytes beyond the given length have no effect.
func FuzzControlMessages(f *testing.F) {
	for _, local := range []string{"192.0.2.1", "2001:db8::1"} {
		var h header
		h.control(srd.UplinkOf(netip.MustParseAddr(local), 3), false, 1400)
		f.Add(append([]byte(nil), h.oob()[:h.hdr.Controllen]...))
	}
	f.Add([]byte{})
	f.Add([]byte{16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, whole header
		n := copy(h.oob(), b)
		h.hdr.SetControllen(n)
		var d, again Datagram
		h.facts(&d)
		// Bytes beyond the length have no effect.
		copy(whole.oob(), h.oob()[:n])
		for i := n; i < oobSize; i++ {
			whole.oob()[i] = 0xff
		}
		whole.hdr.SetControllen(n)
		whole.facts(&again)
		if d.Local != again.Local || d.Segment != again.Segment || d.ECN != again.ECN {
			t.Fatalf("%+v, and with other bytes behind the end %+v", d, again)
		}
	})
}
