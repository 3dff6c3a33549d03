package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
)

// FuzzEndpoint sends arbitrary packets, and corrupted copies of the peer's packets, to a
// process with a session, on any path. The process must not panic, its tables must not
// exceed their bounds, and messages must still pass.
func FuzzEndpoint(f *testing.F) {
	f.Add([]byte{}, uint8(0), uint16(0))
	f.Add([]byte{0x21}, uint8(1), uint16(3))
	f.Add([]byte{0x24, 0, 0, 0}, uint8(2), uint16(0xffff))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(9), uint16(0x0104))
	f.Fuzz(func(t *testing.T, b []byte, on uint8, at uint16) {
		p := newPair(t, 31, four(0, 0)...)
		var seen [][]byte
		p.tap = func(side, _ int, b []byte) {
			if side == 0 {
				seen = append(seen, b)
			}
		}
		p.connect()
		h := p.host[1]
		h.receive(int(on)%len(p.links), append([]byte(nil), b...))
		// The peer's packets, with some bytes replaced by bytes of b.
		for i := range min(len(seen), 16) {
			c := append([]byte(nil), seen[i]...)
			copy(c[int(at)%len(c):], b)
			h.receive(int(on)%len(p.links), c)
		}
		if err := inspect.Sound(h.conn); err != nil {
			t.Fatal(err)
		}
		if n := len(h.index); n > 4 {
			t.Fatalf("%d receiver indices", n)
		}
		p.tap = nil
		p.host[0].src = source{left: 20, size: 100}
		p.host[0].service()
		p.run(5*time.Second, func() bool { return len(h.got) >= 20 })
		p.wantAll(1, 20)
		if n := h.conn.Stats().Received; n != 20 {
			t.Fatalf("%d messages arrived of 20", n)
		}
	})
}
