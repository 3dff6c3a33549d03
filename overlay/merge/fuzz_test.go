package merge

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// FuzzMerger adds packets of three flows. Each packet continues its flow, except for one byte that
// the fuzzer changes. A step is five bytes: the flow and payload, the facts, the position of the
// changed byte, and its new value. Valid packets must be written unchanged, in the order of their
// flow, and every frame must be released.
func FuzzMerger(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Add([]byte{4, 0, 0, 0, 0, 4, 0, 0, 33, 0x18, 4, 0, 0, 0, 0}, true)                // a packet with PSH
	f.Add([]byte{1, 0, 0, 0, 0, 1, 0, 0, 6, 0x20, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0}, false) // a fragment
	f.Add([]byte{8, 0, 0, 0, 0, 8, 3, 0, 0, 0, 8, 0, 0, 46, 0x80, 5, 1, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, steps []byte, udp bool) {
		const flows, sizes, most = 3, 4, 200
		b := newBench(udp)
		var next [flows]spec
		for i := range next {
			next[i] = spec{v6: i == 1, udp: i == 2, port: uint16(1000 + i), flags: ack}
		}
		want := map[uint32][]string{}
		for n := 0; len(steps) >= 5 && n < most; n++ {
			s := &next[steps[0]%flows]
			s.n = 100 * int(1+steps[0]/flows%sizes)
			in := b.alloc(s.length())
			s.put(in.Data, byte(n))
			in.Facts = s.facts()
			in.Facts.Ordered = steps[1]&1 == 0
			if steps[1]&2 != 0 {
				in.Facts.GSO, in.Facts.GSOSize = frame.GSO(steps[1]>>2), uint16(steps[1])
			}
			if at := binary.BigEndian.Uint16(steps[2:]); at != 0 && int(at) < len(in.Data) {
				in.Data[at] = steps[4]
			}
			steps = steps[5:]
			s.seq += uint32(s.n)
			key, all, err := packets(bytes.Clone(in.Data), in.Facts)
			if err != nil {
				in.Release() // the daemon drops such a frame earlier
				continue
			}
			want[key] = append(want[key], all...)
			b.m.Add(in)
		}
		b.m.Flush()
		b.compare(t, want, udp)
	})
}
