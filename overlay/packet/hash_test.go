package packet

import (
	"encoding/binary"
	"testing"
)

// The hash is part of what the two ends of a simulation agree on, so it is
// pinned for one packet of each version.
func TestFlowHashIsPinned(t *testing.T) {
	for _, c := range []struct {
		v6   bool
		seed uint64
		want uint32
	}{{false, 0, 0x8602c1ae}, {false, 7, 0xb27df90f}, {true, 0, 0x76390ea4}, {true, 7, 0x3efe56dc}} {
		var in Info
		Parse(spec{v6: c.v6}.build(), c.seed, &in)
		if in.FlowHash != c.want {
			t.Errorf("v6 %v seed %d: %#x, want %#x", c.v6, c.seed, in.FlowHash, c.want)
		}
	}
}

func TestFlowHashSpreads(t *testing.T) {
	const buckets, flows = 256, 256 * 64
	for _, v6 := range []bool{false, true} {
		var n [buckets]int
		b := spec{v6: v6}.build()
		l4 := len(b) - 20
		for i := range flows {
			binary.BigEndian.PutUint16(b[l4:], uint16(i))
			var in Info
			Parse(b, 42, &in)
			n[in.FlowHash%buckets]++
		}
		chi := 0.0
		for _, c := range n {
			d := float64(c - flows/buckets)
			chi += d * d / (flows / buckets)
		}
		// 255 degrees of freedom: mean 255, standard deviation 23.
		if chi > 255+6*23 {
			t.Errorf("v6 %v: chi square %.0f", v6, chi)
		}
	}
}

func TestFlowHashUsesEveryField(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		b := spec{v6: v6, udp: true}.build()
		base := parse(t, b)
		addresses, l4 := 12, 20
		if v6 {
			addresses, l4 = 8, 40
		}
		for at := addresses; at < l4+4; at++ {
			b[at] ^= 0x10
			if in := parse(t, b); in.FlowHash == base.FlowHash {
				t.Errorf("v6 %v: byte %d does not count", v6, at)
			}
			b[at] ^= 0x10
		}
		tcp := spec{v6: v6}.build()
		if in := parse(t, tcp); in.FlowHash == base.FlowHash {
			t.Errorf("v6 %v: the protocol does not count", v6)
		}
	}
}
